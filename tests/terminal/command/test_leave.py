"""The way out, and finding one's way."""

import pytest

from tests.terminal.conftest import Make


@pytest.mark.parametrize("line", ["/bye", "/exit", "/quit", ".bye"])
def test_leaving(line: str, table: Make) -> None:
    """Every usual word leaves."""
    chat = table()
    chat(line)
    assert chat.chat.leaving
    assert chat.chat.exit_code == 0


def test_help_of_an_unknown_command_is_an_error(table: Make) -> None:
    """The nearest is named."""
    assert "Did you mean /undo?" in table().err("/help undoo")
