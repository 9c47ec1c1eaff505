"""The log of the command-line tool llm: its `logs.db`.

Two schemas: versions before 0.36 kept a row for each question with its response
(`conversations`, `responses`); later ones keep single messages that name the one before
(`threads`, `turns`, `messages`, `parts`) and read the old tables as history. What a file
has of both is read. Attachments and calls of tools are left out; the texts are kept.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from chatcli.core.errors import InputError
from chatcli.core.message import Document, Part, Reasoning, Text, assistant, user
from chatcli.core.usage import Usage
from chatcli.sessions.checked import Malformed, loads
from chatcli.sessions.grow import Chat, Said, Source, grow

if TYPE_CHECKING:
    from sqlite_utils import Database

_PROGRAM = "llm"
_Row = Mapping[str, object]


def read(path: Path) -> list[Chat]:
    """Read all chats in a `logs.db`; the file is not changed.

    Raises:
        InputError: it is no such log, or damaged.
    """
    from sqlite_utils import Database

    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as conn:
            db = Database(conn, execute_plugins=False)
            tables = set(db.table_names())
            threads = list(_threads(db)) if {"threads", "turns", "messages"} <= tables else []
            known = {chat.session.id for chat in threads}
            old = list(_conversations(db)) if "responses" in tables else []
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be read as a log of llm: {error}") from error
    if not {"threads", "responses"} & tables:
        raise InputError(
            f"{path} is no log of llm: it has no table responses and no table threads",
            "llm tells where its log is: llm logs path",
        )
    # A chat that was begun in the old tables and went on in the new ones is whole there.
    return threads + [chat for chat in old if chat.session.id not in known]


# -- messages that name the one before ---------------------------------------------------


def _threads(db: "Database") -> Iterator[Chat]:
    messages = {_text(row, "hash"): row for row in db.table("messages").rows}
    parts: dict[str, list[_Row]] = {}
    for row in db.table("parts").rows_where(order_by="message_hash, position"):
        parts.setdefault(_text(row, "message_hash"), []).append(row)
    fragments = _fragments(db)
    calls: dict[str, list[_Row]] = {}
    for row in db.table("turns").rows_where(order_by="datetime_utc, id"):
        calls.setdefault(_text(row, "thread_id"), []).append(row)
    for thread in db.table("threads").rows_where(order_by="datetime_utc, id"):
        key, tip = _text(thread, "id"), _text(thread, "tip_message_hash")
        made = {_text(row, "tip_message_hash"): row for row in calls.get(key, [])}
        paths = [
            [_message(messages[h], parts.get(h, []), fragments, made) for h in _up(messages, last)]
            for last in dict.fromkeys([*made, tip])
        ]
        yield from _grown(thread, list(made.values()), paths, tip)


def _up(messages: Mapping[str, _Row], last: str) -> list[str]:
    """Return the hashes from the first message to `last`."""
    path: dict[str, None] = {}
    while last in messages and last not in path:
        path[last] = None
        last = _text(messages[last], "parent_hash")
    return list(path)[::-1]


def _message(
    row: _Row, parts: list[_Row], fragments: Mapping[object, str], calls: Mapping[str, _Row]
) -> Said:
    key, role = _text(row, "hash"), _text(row, "role")
    call = calls.get(key, {})
    return Said(
        key=key,
        role="user" if role == "user" else "system" if role == "system" else "assistant",
        parts=tuple(_part for row in parts for _part in _parts(row, fragments)),
        at=_time(call),
        model=_text(call, "resolved_model") or _text(call, "model"),
        usage=_usage(call),
    )


def _parts(row: _Row, fragments: Mapping[object, str]) -> list[Part]:
    text = _text(row, "text") or _spliced(row, fragments)
    if not text or row.get("type") not in ("text", "reasoning"):
        return []
    return [Text(text) if row.get("type") == "text" else Reasoning(text)]


def _spliced(row: _Row, fragments: Mapping[object, str]) -> str:
    """Return a text that is kept as pieces, some of them fragments."""
    try:
        payload = loads(_text(row, "payload") or "{}")
    except Malformed:
        return ""
    pieces = payload.get("text_ref") if isinstance(payload, dict) else None
    if not isinstance(pieces, list):
        return ""
    rows = [piece for piece in pieces if isinstance(piece, dict)]
    return "".join(_text(p, "literal") or fragments.get(p.get("fragment"), "") for p in rows)


# -- a row for each question and its response --------------------------------------------


def _conversations(db: "Database") -> Iterator[Chat]:
    _need(db, "responses", {"id", "model", "prompt", "response"})
    named = {}
    if db.table("conversations").exists():
        named = {_text(row, "id"): row for row in db.table("conversations").rows}
    attached = _attached(db)
    chats: dict[str, list[_Row]] = {}
    for row in db.table("responses").rows_where(order_by="datetime_utc, rowid"):
        key = str(row.get("conversation_id") or f"response {row['id']}")
        chats.setdefault(key, []).append(row)
    for key, rows in chats.items():
        path = [said for row in rows for said in _response(row, attached)]
        yield from _grown(named.get(key, {"id": key}), rows, [path], "")


def _response(row: _Row, attached: Mapping[str, list[Document]]) -> Iterator[Said]:
    key, at = str(row["id"]), _time(row)
    if system := _text(row, "system"):
        yield Said(key=f"{key} system", role="system", parts=(Text(system),))
    prompt = _text(row, "prompt")
    documents = attached.get(key, [])
    asked = user(prompt, *documents).parts
    yield Said(key=f"{key} prompt", role="user", parts=asked, at=at)
    parts = assistant(_text(row, "response"), _text(row, "reasoning")).parts
    model = _text(row, "resolved_model") or _text(row, "model")
    yield Said(key=key, role="assistant", parts=parts, at=at, model=model, usage=_usage(row))


def _attached(db: "Database") -> dict[str, list[Document]]:
    """Return the fragments that were given along with each prompt."""
    found: dict[str, list[Document]] = {}
    if not db.table("prompt_fragments").exists():
        return found
    rows = db.query(
        "SELECT p.response_id AS response, f.content, f.source, f.hash FROM prompt_fragments AS p "
        'JOIN fragments AS f ON f.id = p.fragment_id ORDER BY p.response_id, p."order"'
    )
    for row in rows:
        name = _text(row, "source") or _text(row, "hash")[:8]
        found.setdefault(str(row["response"]), []).append(Document(name, _text(row, "content")))
    return found


# -- both --------------------------------------------------------------------------------


def _grown(chat: _Row, rows: list[_Row], paths: list[list[Said]], head: str) -> Iterator[Chat]:
    source = Source(
        program=_PROGRAM,
        key=str(chat.get("id")),
        title=_text(chat, "name"),
        model=_text(chat, "model") or (_text(rows[-1], "model") if rows else ""),
        at=_time(rows[0]) if rows else _time(chat),
        head=head,
    )
    grown = grow(source, paths)
    if grown is not None:
        yield grown


def _fragments(db: "Database") -> dict[object, str]:
    if not db.table("fragments").exists():
        return {}
    return {row["id"]: _text(row, "content") for row in db.table("fragments").rows}


def _need(db: "Database", table: str, columns: set[str]) -> None:
    if missing := columns - set(db.table(table).columns_dict):
        raise InputError(
            f"the table {table} is no log of llm: it has no column {', '.join(sorted(missing))}"
        )


def _text(row: _Row, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _time(row: _Row) -> float:
    try:
        when = datetime.fromisoformat(_text(row, "datetime_utc"))
    except ValueError:
        return 0.0
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _usage(row: _Row) -> Usage:
    counts = [row.get(name) for name in ("input_tokens", "output_tokens")]
    asked, said = (n if isinstance(n, int) and n >= 0 else 0 for n in counts)
    return Usage(evaluated=asked, completion=said)
