"""What a command line means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.cli.dispatch import hint, meant

COMMANDS = dict.fromkeys(["chat", "ask", "list", "pull", "sessions"])


def _meant(*args: str, tty: bool = False) -> list[str]:
    return meant(args, COMMANDS, lambda: tty)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["what is it"], ["ask", "what is it"]),
        (["what", "is", "it"], ["ask", "what", "is", "it"]),
        (["-m", "x", "what is it"], ["ask", "-m", "x", "what is it"]),
        (["what is it", "-u", "-m", "x"], ["ask", "what is it", "-u", "-m", "x"]),
        (["-o", "temp", "0.2", "hi"], ["ask", "-o", "temp", "0.2", "hi"]),
        (["-um", "x", "hi"], ["ask", "-um", "x", "hi"]),
        (["-ngl", "0", "hi"], ["ask", "-ngl", "0", "hi"]),
        (["--model=x", "hi"], ["ask", "--model=x", "hi"]),
        (["-c"], ["ask", "-c"]),
        ([], ["ask"]),
        (["list the planets"], ["ask", "list the planets"]),
        (["--", "list", "the", "planets"], ["ask", "--", "list", "the", "planets"]),
        (["-u", "--", "list"], ["ask", "-u", "--", "list"]),
        (["ask", "list", "the"], ["ask", "list", "the"]),
        (["list", "--json"], ["list", "--json"]),
        (["-m", "x", "list", "rivers"], ["ask", "-m", "x", "list", "rivers"]),
        (["-m", "x", "chat", "-u"], ["chat", "-m", "x", "-u"]),
        (["-s", "list", "hi"], ["ask", "-s", "list", "hi"]),
        (["--unknown", "hi"], ["ask", "--unknown", "hi"]),
        (["hi", "--help"], ["ask", "hi", "--help"]),
        (["--help"], ["--help"]),
        (["help"], ["--help"]),
        (["help", "pull"], ["pull", "--help"]),
        (["help", "me"], ["ask", "help", "me"]),
        (["--version"], ["--version"]),
        (["--show-completion", "bash"], ["--show-completion", "bash"]),
        (["-"], ["ask", "-"]),
    ],
)
def test_a_line_is_a_command_or_a_question(args: list[str], said: list[str]) -> None:
    """Options may stand first or last; a command's name counts only where it stands alone."""
    assert _meant(*args) == said


def test_where_nothing_is_asked_a_terminal_opens_the_chat() -> None:
    """With options as well; a question at a terminal is a question."""
    assert _meant(tty=True) == ["chat"]
    assert _meant("-m", "x", "-c", tty=True) == ["chat", "-m", "x", "-c"]
    assert _meant("hello", tty=True) == ["ask", "hello"]
    assert _meant("-m", "x", "--help", tty=True) == ["ask", "-m", "x", "--help"]


@given(st.lists(st.text(min_size=1), min_size=1))
def test_words_behind_two_dashes_are_never_a_command(words: list[str]) -> None:
    """Whatever stands there is passed on as it is."""
    assert _meant("--", *words) == ["ask", "--", *words]


@given(st.lists(st.text(), max_size=6))
def test_no_line_is_too_strange_and_no_word_gets_lost(args: list[str]) -> None:
    """The first word of what is meant is a command or an option of the tree."""
    said = _meant(*args)
    assert said[0] in COMMANDS or said[0].startswith("-")
    if said[0] == "ask" and (not args or args[0] not in COMMANDS):
        assert said[1:] == args


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["session"], "Asking 'session' as a question; the command is `chatcli sessions`"),
        (["lists"], "Asking 'lists' as a question; the command is `chatcli list`"),
        (["-u", "session"], "Asking 'session' as a question; the command is `chatcli sessions`"),
        (["--", "session"], ""),
        (["ask", "session"], ""),
        (["hello"], ""),
        (["session one"], ""),
        (["session", "x"], ""),
        (["list"], ""),
        ([], ""),
    ],
)
def test_a_word_like_a_command_earns_a_hint(args: list[str], found: str) -> None:
    """Only a single word that is nearly one."""
    assert hint(args, COMMANDS) == found
