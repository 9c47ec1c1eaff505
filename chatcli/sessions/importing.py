"""Importing chats from files: ours, ChatGPT's export, llm's log.

Importing a file twice adds nothing the second time; importing a longer export of the same
chats adds what is new. What was said here since is never touched.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from chatcli.core.errors import InputError
from chatcli.core.session import Session, SessionId, Turn, TurnId
from chatcli.sessions import checked, codec, import_chatgpt, import_llm
from chatcli.sessions.checked import Malformed
from chatcli.sessions.export import FORMAT, FORMAT_VERSION
from chatcli.sessions.grow import Chat
from chatcli.sessions.sqlite import SqliteStore

Format = Literal["auto", "chatcli", "chatgpt", "llm"]
_ID = re.compile(r"[A-Za-z0-9_-]{4,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an import did, in sessions and turns."""

    added: int
    extended: int
    unchanged: int
    turns: int


def read_chats(path: Path, format_: Format = "auto") -> list[Chat]:
    """Read the chats in a file.

    Raises:
        InputError: it cannot be read, or something in it is not what it should be.
    """
    try:
        with path.open("rb") as file:
            start = file.read(16)
        if format_ == "llm" or (format_ == "auto" and start == b"SQLite format 3\0"):
            return import_llm.read(path)
        if start.startswith(b"PK\x03\x04") and format_ != "chatcli":
            return import_chatgpt.read_zip(path)
        return _read_json(checked.loads(path.read_text("utf-8-sig")), format_)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text in UTF-8", _KNOWN) from error
    except Malformed as error:
        raise InputError(f"{path} cannot be imported: {error}", _KNOWN) from error


_KNOWN = "Known are: JSON of `sessions export -f json`, ChatGPT's export (.zip), llm's logs.db"


def _read_json(value: object, format_: Format) -> list[Chat]:
    ours = isinstance(value, dict) and "format" in value
    if format_ == "chatcli" or (format_ == "auto" and ours):
        return _read_ours(value)
    some = value[0] if isinstance(value, list) and value else value
    if format_ == "chatgpt" or (isinstance(some, dict) and "mapping" in some) or value == []:
        return import_chatgpt.read(value)
    raise Malformed("it is JSON, but of no known form")


# -- our own -----------------------------------------------------------------------------


def _read_ours(value: object) -> list[Chat]:
    row = checked.want(value, dict, "the file")
    if row.get("format") != FORMAT:
        raise Malformed(f"its format is {row.get('format')!r}, not {FORMAT!r}")
    version = checked.field(row, "version", int, "the file")
    if version > FORMAT_VERSION:
        raise Malformed(f"its version is {version}, this program knows {FORMAT_VERSION}")
    items = checked.field(row, "sessions", list, "the file")
    return [_our_chat(item, f"sessions[{i}]") for i, item in enumerate(items)]


def _our_chat(value: object, where: str) -> Chat:
    session = codec.session_from(value, where)
    items = checked.field(checked.want(value, dict, where), "turns", list, where)
    turns = [codec.turn_from(item, f"{where}.turns[{i}]") for i, item in enumerate(items)]
    known: set[TurnId | None] = {None}
    for i, turn in enumerate(turns):
        if turn.parent not in known:
            raise Malformed(f"{where}.turns[{i}].parent {turn.parent!r} does not come before it")
        if turn.id in known:
            raise Malformed(f"{where}.turns[{i}].id {turn.id!r} is there twice")
        known.add(turn.id)
    for name in (session.id, *(turn.id for turn in turns)):
        if not _ID.fullmatch(name):
            raise Malformed(f"{where} has an id that is none: {name!r}")
    if session.head not in known:
        raise Malformed(f"{where}.head is no turn of it")
    return Chat(session, tuple(turns))


# -- into the store ----------------------------------------------------------------------


def import_chats(store: SqliteStore, chats: Iterable[Chat], model: str = "") -> Outcome:
    """Add what the store does not have yet; `model`, if given, is the one to go on with.

    Raises:
        SessionBusy: a chat that would grow is open in another process.
    """
    known = {session.id for session in store.sessions()}
    new: dict[SessionId, Chat] = {}
    grown: list[int] = []
    for chat in chats:
        session = replace(chat.session, model=model) if model else chat.session
        if session.id in known:
            grown.append(_extend(store, session, chat.turns))
        else:
            new.setdefault(session.id, Chat(session, chat.turns))
    store.add_all((chat.session, chat.turns) for chat in new.values())
    return Outcome(
        added=len(new),
        extended=sum(n > 0 for n in grown),
        unchanged=len(grown) - sum(n > 0 for n in grown),
        turns=sum(grown) + sum(len(chat.turns) for chat in new.values()),
    )


def _extend(store: SqliteStore, session: Session, turns: tuple[Turn, ...]) -> int:
    """Add the turns that are new; the head moves only if the new path goes on from it."""
    with store.hold(session.id):
        have = {turn.id for turn in store.turns(session.id)}
        new = [turn for turn in turns if turn.id not in have]
        if new:
            mine = store.get(session.id)
            if mine.head in _path(turns, session.head):
                mine = replace(
                    mine,
                    head=session.head,
                    kind=session.kind,
                    updated_at=max(mine.updated_at, session.updated_at),
                )
            store.extend(mine, new)
    return len(new)


def _path(turns: Iterable[Turn], head: TurnId | None) -> set[TurnId | None]:
    parents = {turn.id: turn.parent for turn in turns}
    path: set[TurnId | None] = {None}
    while head is not None and head not in path:
        path.add(head)
        head = parents.get(head)
    return path
