"""One turn at the terminal: whatever happens to the screen, what was shown is kept."""

import io
from dataclasses import replace

import pytest

from chatcli.testing import ScriptedEngine
from tests.terminal.conftest import Make, memory_env


class Closing(io.StringIO):
    """A pipe whose reader goes away after some writes."""

    def __init__(self, n_writes: int) -> None:
        super().__init__()
        self.left = n_writes

    def write(self, text: str) -> int:
        """Write while there is a reader."""
        self.left -= 1
        if self.left < 0:
            raise BrokenPipeError
        return super().write(text)


def test_a_reader_that_goes_away_keeps_the_part(table: Make) -> None:
    """The reply is stopped and recorded; the caller decides about the error."""
    chat = table(engine=ScriptedEngine([["word "] * 50]))
    chat.chat.env = replace(memory_env(), stdout=Closing(3))
    with pytest.raises(BrokenPipeError):
        chat.chat.send("hello")
    turn = chat.chat.conversation.current()
    assert turn.finish == "cancelled"
    assert 3 <= len(turn.reply.text.split()) <= 5


def test_remarks_are_broken_between_words(table: Make) -> None:
    """A path longer than the line stays whole, for copying."""
    chat = table().chat
    chat.env = replace(memory_env(), stderr_tty=True, size=None)
    path = "/a/" + "x" * 100
    chat.note(f"{'word ' * 20}{path}\n  > indented")
    assert isinstance(chat.env.stderr, io.StringIO)
    lines = chat.env.stderr.getvalue().splitlines()
    assert lines[0] == ("word " * 16).rstrip()
    assert path in lines
    assert lines[-1] == "  > indented"
