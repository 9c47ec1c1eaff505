"""What can follow the text before the cursor. Knows names and places, not the prompt."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from chatcli.core.printable import visible_line
from chatcli.core.session import Session, Turn
from chatcli.paths import expanded
from chatcli.terminal.slash import Command

_SESSIONS = 50
_PATHS = 200


class Candidate(NamedTuple):
    """A completion: `text` takes the place of the last `length` characters before the cursor."""

    text: str
    length: int
    meta: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where the names come from; each is asked at each completion."""

    commands: Mapping[str, Command]
    models: Callable[[], Sequence[str]]
    sessions: Callable[[], Sequence[Session]]
    turns: Callable[[], Sequence[Turn]]
    keys: Callable[[], Sequence[str]]


def candidates(before: str, sources: Sources) -> Iterator[Candidate]:
    """Yield what can complete `before`, the text in front of the cursor."""
    if "\n" in before or before[:1] not in {"/", "."}:
        return
    word, space, argument = before[1:].partition(" ")
    if not space:
        yield from _commands(word, sources, len(word))
        return
    command = sources.commands.get(word.lower())
    if command is not None:
        yield from _argument(command, argument.lstrip(), sources)


def _commands(word: str, sources: Sources, length: int) -> Iterator[Candidate]:
    low = word.lower()
    listed = list(dict.fromkeys(sources.commands.values()))
    for command in listed:
        # The name where it fits, else the first alias that does: each command once.
        name = next((name for name in command.words if name.startswith(low)), None)
        if name is not None:
            yield Candidate(name, length, command.help)


def _argument(command: Command, argument: str, sources: Sources) -> Iterator[Candidate]:
    match command.completes:
        case "command":
            yield from _commands(argument.lstrip("/"), sources, len(argument.lstrip("/")))
        case "model":
            yield from _words(argument, sources.models())
        case "session":
            yield from _sessions(argument, sources.sessions())
        case "turn":
            yield from _turns(argument, sources.turns())
        case "copy":
            yield from _words(argument.rpartition(" ")[2], ["code"])
            yield from _turns(argument, sources.turns())
        case "path" | "file":
            yield from _paths(_last_word(argument))
        case "key":
            yield from _words(argument, sources.keys())
        case "show":
            yield from _words(argument, ["model", "system", "settings"])
        case _:
            return


def _words(typed: str, names: Sequence[str]) -> Iterator[Candidate]:
    for name in names:
        if name.lower().startswith(typed.lower()):
            yield Candidate(name, len(typed))


def _sessions(typed: str, sessions: Sequence[Session]) -> Iterator[Candidate]:
    low = typed.lower()
    for session in sessions[:_SESSIONS]:
        # Typed letters of a title find it; its id is what is put in, for titles repeat.
        if session.id.startswith(low) or low in session.title.lower():
            yield Candidate(session.id, len(typed), visible_line(session.title)[:60])


def _turns(typed: str, path: Sequence[Turn]) -> Iterator[Candidate]:
    for number, turn in enumerate(path, 1):
        if str(number).startswith(typed):
            asked = " ".join(message.text for message in turn.asked)
            yield Candidate(str(number), len(typed), visible_line(asked)[:60])


def _last_word(text: str) -> str:
    """Return the last word, where a backslash keeps a space inside it."""
    start = len(text)
    while start and (text[start - 1] != " " or text[start - 2 : start] == "\\ "):
        start -= 1
    return text[start:]


_SPECIAL = re.compile(r"([\s'\"\\])")


def _paths(typed: str) -> Iterator[Candidate]:
    folder, _, name = re.sub(r"\\(.)", r"\1", typed).rpartition("/")
    if not folder and typed.startswith("/"):
        folder = "/"
    try:
        found = sorted((e.name, e.is_dir()) for e in expanded(folder or ".").iterdir())
    except OSError:
        return
    fitting = (
        (entry, is_dir)
        for entry, is_dir in found
        if entry.startswith(name)
        and (name.startswith(".") or not entry.startswith("."))
        # A name with control characters cannot be typed back as it is shown.
        and entry.isprintable()
    )
    length = len(typed.rpartition("/")[2])
    for entry, is_dir in islice(fitting, _PATHS):
        yield Candidate(_SPECIAL.sub(r"\\\1", entry) + "/" * is_dir, length)
