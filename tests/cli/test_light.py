"""typer without its costs: what an option gives is the same."""

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.main import get_command

from chatcli.cli.light import PAIR, lighten
from chatcli.cli.main import run


def _read(*args: str) -> dict[str, object]:
    seen: dict[str, object] = {}
    app = typer.Typer(rich_markup_mode=None, add_completion=False)

    @app.command()
    def one(
        name: str,
        words: Annotated[list[str] | None, typer.Argument()] = None,
        number: Annotated[int, typer.Option(min=1)] = 5,
        rate: Annotated[float | None, typer.Option()] = None,
        file: Annotated[Path | None, typer.Option()] = None,
        flag: Annotated[bool, typer.Option("-f")] = False,
        pair: Annotated[list[str] | None, typer.Option("-p", metavar=PAIR)] = None,
    ) -> None:
        seen.update(name=name, words=words, number=number, rate=rate)
        seen.update(file=file, flag=flag, pair=pair)

    command = get_command(app)
    lighten(command)
    with command.make_context("one", list(args)) as context:
        command.invoke(context)
    return seen


def test_what_is_not_given_keeps_its_default() -> None:
    """None, a number, an empty list as None."""
    assert _read("x") == {
        "name": "x",
        "words": None,
        "number": 5,
        "rate": None,
        "file": None,
        "flag": False,
        "pair": None,
    }


def test_what_is_given_is_read_as_typer_reads_it() -> None:
    """Numbers and paths get their types, a pair two words, each time it is given."""
    found = _read(
        *("x", "y", "z", "--number", "7", "--rate", "0.5", "--file", "/a", "-f"),
        *("-p", "k", "v", "-p", "a", "b"),
    )
    assert found == {
        "name": "x",
        "words": ["y", "z"],
        "number": 7,
        "rate": 0.5,
        "file": Path("/a"),
        "flag": True,
        "pair": [("k", "v"), ("a", "b")],
    }


@pytest.mark.parametrize("args", [[], ["x", "--number", "0"], ["x", "--number", "many"]])
def test_what_is_missing_or_wrong_is_still_refused(args: list[str]) -> None:
    """typer's own checks, ranges included."""
    with pytest.raises(typer.exceptions.TyperException):
        _read(*args)


def test_the_help_option_still_works(capsys: pytest.CaptureFixture[str]) -> None:
    """-h and --help, at the root and below."""
    for argv in (["-h"], ["ask", "-h"], ["ask", "--help"]):
        assert run(argv) == 0
        assert capsys.readouterr().out.startswith("Usage: chatcli")
