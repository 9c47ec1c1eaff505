"""Sessions and turns as rows: all SQL that reads or writes whole values.

Each function works on a connection that the caller lends, inside the caller's transaction.
Token ids are little-endian unsigned 32-bit integers, one after the other.
"""

import sqlite3
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import TypeAlias

from chatcli.core.decision import Route
from chatcli.core.errors import StoreError
from chatcli.core.sampling import Sampling
from chatcli.core.session import Fingerprint, Session, SessionId, TokenRecord, Turn, TurnId
from chatcli.sessions import checked, codec

# -- sessions ----------------------------------------------------------------------------

SESSION = "id, kind, model, clock, system, sampling, title, head, updated_at"


def storable(text: str) -> str:
    """Return `text` with halves of surrogate pairs replaced: a column holds UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def insert_session(conn: sqlite3.Connection, session: Session) -> None:
    """Add a session."""
    conn.execute(
        f"INSERT INTO sessions ({SESSION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608  # constant
        (session.id, session.kind, storable(session.model), session.clock, *_changing(session)),
    )


def update_session(conn: sqlite3.Connection, session: Session) -> bool:
    """Update what can change; say whether the session is there."""
    done = conn.execute(
        "UPDATE sessions SET kind = ?, model = ?, clock = ?, system = ?, sampling = ?, title = ?, "
        "head = ?, updated_at = ? WHERE id = ?",
        (session.kind, storable(session.model), session.clock, *_changing(session), session.id),
    )
    return done.rowcount == 1


def _changing(session: Session) -> tuple[object, ...]:
    sampling = checked.dumps(codec.sampling_to(session.sampling))
    system, title = storable(session.system), storable(session.title)
    return system, sampling, title, session.head, session.updated_at


def session_from(row: Sequence[str]) -> Session:
    """Read a row of the columns `SESSION`."""
    id_, kind, model, clock, system, sampling, title, head, updated_at = row
    return Session(
        id=SessionId(id_),
        kind=codec.kind_from(kind, "kind"),
        model=model,
        clock=float(clock),
        system=system,
        sampling=_sampling(sampling),
        title=title,
        head=None if head is None else TurnId(head),
        updated_at=float(updated_at),
    )


@lru_cache(maxsize=64)
def _sampling(text: str) -> Sampling:
    """Read sampler parameters; nearly all sessions have the same."""
    return codec.sampling_from(checked.loads(text), "sampling")


def move_head(conn: sqlite3.Connection, session_id: SessionId, turn: Turn) -> None:
    """Put the session's head on `turn`."""
    conn.execute(
        "UPDATE sessions SET head = ?, updated_at = ? WHERE id = ?",
        (turn.id, turn.started_at, session_id),
    )


def delete_session(conn: sqlite3.Connection, session_id: SessionId) -> bool:
    """Delete a session with all its turns; say whether it was there."""
    of = "turn IN (SELECT id FROM turns WHERE session = ?)"
    conn.execute(f"DELETE FROM tokens WHERE {of}", (session_id,))  # noqa: S608  # constant
    conn.execute("DELETE FROM turns WHERE session = ?", (session_id,))
    return conn.execute("DELETE FROM sessions WHERE id = ?", (session_id,)).rowcount == 1


# -- turns -------------------------------------------------------------------------------

TURN = "id, parent, asked, reply, route, finish, started_at, usage, verdicts, cut"
_COLUMNS = f"seq, {TURN}"
_TREE = f"SELECT {_COLUMNS} FROM turns WHERE session = ? AND state = 'done' ORDER BY seq"  # noqa: S608  # constant
_UP = f"""
    WITH RECURSIVE up (id, parent, depth) AS (
        SELECT id, parent, 0 FROM turns WHERE id = ? AND session = ? AND state = 'done'
        UNION ALL
        SELECT t.id, t.parent, up.depth + 1 FROM turns AS t JOIN up ON t.id = up.parent
    )
    SELECT {", ".join("t." + name for name in _COLUMNS.split(", "))}
    FROM up CROSS JOIN turns AS t USING (id) ORDER BY up.depth DESC
"""  # noqa: S608  # constant


def insert_open(conn: sqlite3.Connection, session_id: SessionId, turn: Turn) -> None:
    """Add a turn that has its question only."""
    _insert(conn, session_id, turn, "open", "")


def insert_turn(conn: sqlite3.Connection, session_id: SessionId, turn: Turn) -> None:
    """Add a finished turn."""
    _insert(conn, session_id, turn, "done", words_of(turn))
    _insert_tokens(conn, turn)


def _insert(
    conn: sqlite3.Connection, session_id: SessionId, turn: Turn, state: str, words: str
) -> None:
    conn.execute(
        "INSERT INTO turns (id, parent, asked, reply, route, finish, started_at, usage, verdicts, "
        "cut, session, state, words) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (turn.id, turn.parent, *_values(turn), session_id, state, words),
    )


def finish_turn(conn: sqlite3.Connection, turn: Turn) -> SessionId | None:
    """Complete a turn that is open, and return its session; None if it is not open."""
    found = conn.execute(
        "SELECT session FROM turns WHERE id = ? AND state = 'open'", (turn.id,)
    ).fetchone()
    if found is None:
        return None
    conn.execute(
        "UPDATE turns SET state = 'done', words = ?, asked = ?, reply = ?, route = ?, finish = ?, "
        "started_at = ?, usage = ?, verdicts = ?, cut = ? WHERE id = ? AND state = 'open'",
        (words_of(turn), *_values(turn), turn.id),
    )
    _insert_tokens(conn, turn)
    return SessionId(found[0])


def delete_open(conn: sqlite3.Connection, turn: TurnId) -> None:
    """Delete a turn if it is open."""
    conn.execute("DELETE FROM turns WHERE id = ? AND state = 'open'", (turn,))


def _values(turn: Turn) -> tuple[object, ...]:
    return (
        checked.dumps([codec.message_to(message) for message in turn.asked]),
        checked.dumps(codec.message_to(turn.reply)),
        checked.dumps(codec.route_to(turn.route)),
        turn.finish,
        turn.started_at,
        checked.dumps(codec.usage_to(turn.usage)),
        checked.dumps([codec.verdict_to(verdict) for verdict in turn.verdicts]),
        None if turn.cut is None else checked.dumps(asdict(turn.cut)),
    )


def _insert_tokens(conn: sqlite3.Connection, turn: Turn) -> None:
    conn.executemany(
        "INSERT INTO tokens (turn, fingerprint, keep, thought, prompt, reply) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [
            (turn.id, print_, rec.keep, rec.thought, pack(rec.prompt), pack(rec.reply))
            for print_, rec in turn.tokens.items()
        ],
    )


def words_of(turn: Turn) -> str:
    """Return the text that a search looks at: questions with their documents, and the reply."""
    texts = [*(message.content for message in turn.asked), turn.reply.content]
    return storable("\n\n".join(text for text in texts if text))


def tree(conn: sqlite3.Connection, session_id: SessionId) -> list[Turn]:
    """Return all finished turns of a session in order of arrival."""
    return _turns(conn, conn.execute(_TREE, (session_id,)).fetchall())


def up_from(conn: sqlite3.Connection, session_id: SessionId, head: TurnId) -> list[Turn]:
    """Return the turns from the root to `head`; none if `head` is not a turn of the session."""
    return _turns(conn, conn.execute(_UP, (head, session_id)).fetchall())


def open_ids(conn: sqlite3.Connection) -> list[tuple[SessionId, TurnId]]:
    """Return the turns whose replies are being written, or whose writers died."""
    found = conn.execute("SELECT session, id FROM turns WHERE state = 'open'").fetchall()
    return [(SessionId(session), TurnId(turn)) for session, turn in found]


def open_turns(conn: sqlite3.Connection, session_id: SessionId) -> list[Turn]:
    """Return the open turns of one session."""
    query = f"SELECT {_COLUMNS} FROM turns WHERE session = ? AND state = 'open' ORDER BY seq"  # noqa: S608  # constant
    return _turns(conn, conn.execute(query, (session_id,)).fetchall())


def is_last(conn: sqlite3.Connection, session_id: SessionId, turn: TurnId) -> bool:
    """Say whether no turn came into the session after this one."""
    query = "SELECT id FROM turns WHERE session = ? ORDER BY seq DESC LIMIT 1"
    last: tuple[str] = conn.execute(query, (session_id,)).fetchone()
    return last[0] == turn


_Row: TypeAlias = tuple[int, str, str | None, str, str, str, str, float, str, str, str | None]


def _turns(conn: sqlite3.Connection, found: Sequence[_Row]) -> list[Turn]:
    tokens = _tokens(conn, [row[1] for row in found])
    # One parse for all rows: a call for each column would take most of the time.
    texts = [f"[{row[3]},{row[4]},{row[8]},{row[9]},{row[10] or 'null'}]" for row in found]
    parsed = checked.want(checked.loads(f"[{','.join(texts)}]"), list, "turns")
    return [
        _turn(row, values, tokens.get(row[1], {}))
        for row, values in zip(found, parsed, strict=True)
    ]


def _turn(row: _Row, values: Sequence[object], tokens: Mapping[Fingerprint, TokenRecord]) -> Turn:
    asked, reply, usage, verdicts, cut = values
    return Turn(
        id=TurnId(row[1]),
        parent=None if row[2] is None else TurnId(row[2]),
        asked=codec.messages_from(asked, "asked"),
        reply=codec.message_from(reply, "reply"),
        route=_route(row[5]),
        finish=codec.finish_from(row[6], "finish"),
        started_at=row[7],
        usage=codec.usage_from(usage, "usage"),
        tokens=tokens,
        verdicts=codec.verdicts_from(verdicts, "verdicts"),
        cut=None if cut is None else codec.cut_from(cut, "cut"),
    )


@lru_cache(maxsize=64)
def _route(text: str) -> Route:
    """Read a route; the turns of a chat share a few."""
    return codec.route_from(checked.loads(text), "route")


# -- token ids ---------------------------------------------------------------------------

_AT_ONCE = 500  # parameters in one statement; old SQLite libraries allow 999


def _tokens(
    conn: sqlite3.Connection, turns: Sequence[str]
) -> dict[str, dict[Fingerprint, TokenRecord]]:
    found: dict[str, dict[Fingerprint, TokenRecord]] = {}
    for start in range(0, len(turns), _AT_ONCE):
        some = turns[start : start + _AT_ONCE]
        marks = ",".join("?" * len(some))
        query = (
            "SELECT turn, fingerprint, keep, prompt, reply, thought FROM tokens "  # noqa: S608  # marks
            f"WHERE turn IN ({marks}) ORDER BY rowid"
        )
        for turn, print_, keep, prompt, reply, thought in conn.execute(query, some):
            record = TokenRecord(keep, unpack(prompt), unpack(reply), thought)
            found.setdefault(turn, {})[Fingerprint(print_)] = record
    return found


def pack(ids: Iterable[int]) -> bytes:
    """Return token ids as bytes."""
    packed = array("I", ids)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack(blob: bytes) -> tuple[int, ...]:
    """Return the token ids in `blob`.

    Raises:
        StoreError: its length is not a multiple of four.
    """
    packed = array("I")
    try:
        packed.frombytes(blob)
    except ValueError as error:
        raise StoreError("a token record is damaged", "Restore the database") from error
    if sys.byteorder == "big":
        packed.byteswap()
    return tuple(packed)
