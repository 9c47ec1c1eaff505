"""What is a command, what is a message, and that the table is complete."""

import pytest

from chatcli.terminal.command import COMMANDS, KNOWN
from chatcli.terminal.slash import Call, block_open, parse, unquoted
from tests.terminal.conftest import Make

PROMISED = """
    help ? bye exit quit clear new model system set show load list save regen retry undo edit
    fork continue copy read tokens context stats export search tree go
"""


def test_every_promised_command_is_there() -> None:
    """The names that users were told of all work."""
    assert set(PROMISED.split()) <= set(KNOWN)


def test_no_two_commands_share_a_name() -> None:
    """Names and aliases are unique."""
    words = [word for command in COMMANDS for word in command.words]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_one_line_of_help(command: object, table: Make) -> None:
    """It is listed by /help and explained by /help NAME, in one line without a full stop."""
    known = {id(c): c for c in COMMANDS}[id(command)]
    assert known.help[0].isupper()
    assert not known.help.endswith(".")
    assert "\n" not in known.help
    chat = table()
    assert f"/{known.name}" in chat("/help")
    explained = chat(f"/help {known.name}")
    assert known.help in explained
    assert known.argument in explained


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("/help", Call("help", "", "/")),
        ("/HELP ", Call("help", "", "/")),
        ("/?", Call("?", "", "/")),
        ("/load  my chat ", Call("load", "my chat", "/")),
        ("/etc", Call("etc", "", "/")),
        (".undo 2", Call("undo", "2", ".")),
        ("!ls -l", Call("ls", "-l", "!")),
        ('/system """a\nb"""', Call("system", "a\nb", "/")),
        ("/usr/bin/x is what?", None),
        ("/etc/passwd", None),
        ("/ is the root", None),
        ("//", None),
        ("/help\nme", None),
        ("/what is\nthis", None),
        (" /help", None),
        (".5 is a half", None),
        (".gitignore is what?", None),
        ("... and then?", None),
        ("!", None),
        ("!!", None),
        ("! not", None),
        ("hello /help", None),
        ("", None),
    ],
)
def test_a_command_is_told_from_a_message(line: str, call: Call | None) -> None:
    """Paths, pasted text and words with a dot are messages."""
    assert parse(line, KNOWN) == call


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ('"""', True),
        ('"""a', True),
        ('"""a\nb', True),
        ('"""a\nb"""', False),
        ('""""""', False),
        ('""', False),
        ('say """', False),
        ('/system """be', True),
        ('/system """be"""', False),
    ],
)
def test_a_block_is_open_until_its_marks_come_again(text: str, is_open: bool) -> None:
    """Enter begins a new line while it is."""
    assert block_open(text) is is_open


@pytest.mark.parametrize(
    ("text", "inner"),
    [('"""a"""', "a"), ('"""\na\nb\n"""', "a\nb"), ("a", "a"), ('"""', ""), ('"""a', "a")],
)
def test_the_marks_of_a_block_are_not_sent(text: str, inner: str) -> None:
    """Nor is the line feed behind the first or before the last."""
    assert unquoted(text) == inner


def test_the_help_fits_a_small_terminal(table: Make) -> None:
    """No line is longer than 80 columns."""
    assert max(map(len, table()("/help").splitlines())) <= 80


def test_an_unknown_command_names_the_nearest(table: Make) -> None:
    """Nothing is sent to the model."""
    chat = table()
    assert "unknown command /contxt. Did you mean /context?" in chat.err("/contxt")
    assert "A leading space makes the line a message" in chat.err("/etc")
    assert chat.chat.conversation.turns() == []
    chat(" /etc is what?")
    assert chat.chat.conversation.current().asked[0].text == "/etc is what?"


def test_a_dot_works_and_is_explained_once(table: Make) -> None:
    """Fingers used to .commands are not sent away."""
    chat = table()
    assert ".list is understood as /list" in chat.err(".list")
    assert "understood" not in chat.err(".list")


def test_an_exclamation_mark_is_reserved(table: Make) -> None:
    """It says how to pipe instead, and runs nothing."""
    chat = table()
    err = chat.err("!touch here")
    assert "reserved" in err
    assert "command | chatcli" in err
