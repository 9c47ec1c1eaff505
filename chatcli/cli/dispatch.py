"""Which command a command line means. Pure but for the question what stdin is.

`chatcli "question" -u`, `chatcli -m NAME "question"` and `chatcli -- list of words` name no
command: they are rewritten to `ask`, or to `chat` where nothing is asked and somebody sits
at the terminal.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

HELP = ("--help", "-h")
VERSION = ("--version", "-V")
COMPLETION = ("--install-completion", "--show-completion")


class Line(NamedTuple):
    """A command line cut up: options before the first word, the command, the other words.

    `command` None: there is none, and `rest` are the words of a question.
    """

    head: list[str]
    command: str | None
    rest: list[str]


_TALK = ("ask", "chat", "run")
"""Commands that take the options of a question. Behind such options any other is a word."""


def cut(args: Sequence[str], commands: Mapping[str, object]) -> Line:
    """Cut a command line. Options may stand anywhere among the words of a question."""
    if not args or args[0] in commands:
        return Line([], args[0] if args else None, list(args[1:]))
    from chatcli.cli.ask import Asked
    from chatcli.cli.options import value_options

    takes = value_options(Asked)
    head: list[str] = []
    words: list[str] = []
    at = 0
    while at < len(args):
        arg = args[at]
        if arg == "--":
            return Line(head, None, [*words, *args[at + 1 :]])
        if arg.startswith("-") and arg != "-":
            end = at + 1 + _values(arg, takes)
            head += args[at:end]
            at = end
            continue
        if not words and arg in commands and (not head or arg in _TALK):
            return Line(head, arg, list(args[at + 1 :]))
        words.append(arg)
        at += 1
    return Line(head, None, words)


def _values(arg: str, takes: Mapping[str, int]) -> int:
    """Return how many words behind the option `arg` belong to it."""
    if arg in takes:
        return takes[arg]
    if arg.startswith("--"):
        return 0  # a flag, unknown, or --name=value
    # Short flags may be joined: the first that takes a value takes the rest, or the next word.
    for i, letter in enumerate(arg[1:], 1):
        if f"-{letter}" in takes:
            return takes[f"-{letter}"] - (0 if i == len(arg) - 1 else 1)
    return 0


def meant(
    args: Sequence[str], commands: Mapping[str, object], interactive: Callable[[], bool]
) -> list[str]:
    """Return the command line with its command at the front; a bare `--help` stays as it is.

    `interactive`: whether somebody sits at stdin; asked only where nothing is said.
    """
    if args and args[0] == "help" and len(args) < 3:
        # `chatcli help`, `chatcli help pull`; `chatcli help me` is a question.
        if len(args) == 1:
            return ["--help"]
        if args[1] in commands:
            return [args[1], "--help"]
    if args and args[0].split("=")[0] in (*HELP, *VERSION, *COMPLETION):
        return list(args)
    line = cut(args, commands)
    if line.command is not None:
        return [line.command, *line.head, *line.rest]
    if not line.rest and not _wants_help(args) and "chat" in commands and interactive():
        return ["chat", *args]
    return ["ask", *args]


def _wants_help(args: Sequence[str]) -> bool:
    return any(arg in HELP for arg in args)


def hint(args: Sequence[str], commands: Mapping[str, object]) -> str:
    """Return a remark about a one-word question that looks like a command; mostly ""."""
    words = [] if "--" in args else cut(args, commands).rest
    if len(words) != 1 or not words[0].isidentifier() or args[0] in commands:
        return ""
    from chatcli.core.nearest import nearest

    word = words[0]
    command = nearest(word, commands)
    return f"Asking {word!r} as a question; the command is `chatcli {command}`" if command else ""
