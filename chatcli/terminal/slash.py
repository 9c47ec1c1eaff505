"""The slash commands: one table, and the rule that tells a command from a message."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from chatcli.core.errors import UsageError
from chatcli.core.nearest import nearest
from chatcli.terminal.chat import Chat

Completes: TypeAlias = Literal[
    "", "command", "model", "session", "turn", "path", "file", "key", "show", "copy"
]
"""What an argument can be completed with."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `argument` is its form as /help shows it; `help` is one line."""

    name: str
    argument: str
    help: str
    run: Callable[[Chat, str], None]
    aliases: tuple[str, ...] = ()
    completes: Completes = ""

    @property
    def words(self) -> tuple[str, ...]:
        """All names it goes by."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class Call:
    """A line that is a command: the word without its mark, the argument, and the mark."""

    word: str
    argument: str
    mark: str


# A word and then nothing or a space: "/usr/bin/x is what?" and "/etc/passwd" are messages.
_CALL = re.compile(r"([/.!])([A-Za-z?][\w-]*)(?:[ \t]+(.*)|[ \t]*)", re.DOTALL)


def parse(line: str, known: Mapping[str, Command]) -> Call | None:
    """Return the call that `line` is, or None when it is a message.

    Text of several lines is a message, unless a known command takes a `\"\"\"` block. A word
    behind a dot counts only when it is a known command: "`.5`" and ".gitignore" are words.
    """
    found = _CALL.fullmatch(line.rstrip())
    if found is None:
        return None
    mark, word, argument = found[1], found[2].lower(), found[3] or ""
    if "\n" in argument and not (word in known and argument.startswith('"""')):
        return None
    if mark == "." and word not in known:
        return None
    return Call(word, unquoted(argument.strip()), mark)


def unquoted(text: str) -> str:
    """Return `text` without the `\"\"\"` marks around it."""
    if not text.startswith('"""'):
        return text
    inner = text[3:].removesuffix('"""')
    return inner.removeprefix("\n").removesuffix("\n")


def block_open(text: str) -> bool:
    """Return whether `text` begins a `\"\"\"` block that it does not end."""
    found = _CALL.fullmatch(text)
    body = (found[3] or "") if found and found[1] == "/" else text.lstrip()
    return body.startswith('"""') and not (len(body) >= 6 and body.rstrip().endswith('"""'))


def run(chat: Chat, call: Call, known: Mapping[str, Command]) -> None:
    """Run a command.

    Raises:
        ChatcliError: it is unknown, or it failed.
    """
    if call.mark == "!":
        raise UsageError(
            "a line that begins with ! is reserved for running shell commands",
            'Until tools can run them, pipe: `command | chatcli "question"`, or /read a file.'
            " A leading space makes it a message",
        )
    command = known.get(call.word)
    if command is None:
        meant = nearest(call.word, known)
        remedy = f"Did you mean /{meant}?" if meant else "/help lists them."
        raise UsageError(
            f"unknown command /{call.word}", f"{remedy} A leading space makes the line a message"
        )
    if call.mark == "." and not chat.dots_explained:
        chat.dots_explained = True
        chat.note(f".{call.word} is understood as /{call.word}")
    command.run(chat, call.argument)
