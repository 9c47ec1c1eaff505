"""Finding sessions: by what a user calls them, and by what was said in them."""

import sqlite3
from collections.abc import Sequence

from chatcli.core.errors import SessionNotFound
from chatcli.core.ports import Hit
from chatcli.core.printable import visible_line
from chatcli.core.session import Kind, Session, TurnId
from chatcli.sessions import rows

_MIN_PREFIX = 4
_SHOWN = 5
_SNIPPET_TOKENS = 24
_SNIPPET_CHARS = 120
_COLUMNS = ", ".join(f"s.{name}" for name in rows.SESSION.split(", "))


def listed(conn: sqlite3.Connection, kinds: Sequence[Kind], limit: int) -> list[Session]:
    """Return sessions of some kinds, last used first; `limit` 0 means all."""
    marks = ",".join("?" * len(kinds))
    query = (
        f"SELECT {rows.SESSION} FROM sessions WHERE kind IN ({marks}) "  # noqa: S608  # constants
        "ORDER BY updated_at DESC, seq DESC LIMIT ?"
    )
    found = conn.execute(query, (*kinds, limit if limit > 0 else -1))
    return [rows.session_from(row) for row in found.fetchall()]


def by_id(conn: sqlite3.Connection, session_id: str) -> Session | None:
    """Return the session with exactly this id."""
    query = f"SELECT {rows.SESSION} FROM sessions WHERE id = ?"  # noqa: S608  # constant
    row = conn.execute(query, (rows.storable(session_id),)).fetchone()
    return None if row is None else rows.session_from(row)


# -- by name -----------------------------------------------------------------------------


def resolve(conn: sqlite3.Connection, reference: str) -> Session:
    """Find a session by id, unique id prefix, title, or a part of a title.

    Raises:
        SessionNotFound: none or several match; the hint names up to five candidates.
    """
    wanted = rows.storable(reference.strip())
    if (exact := by_id(conn, wanted)) is not None:
        return exact
    by_prefix = _by_prefix(conn, wanted.lower())
    if len(by_prefix) == 1:
        return by_prefix[0]
    by_title = _by_title(conn, wanted)
    if len(by_title) == 1:
        return by_title[0]
    raise _not_one(reference, by_prefix or by_title)


def _by_prefix(conn: sqlite3.Connection, prefix: str) -> list[Session]:
    if len(prefix) < _MIN_PREFIX:
        return []
    query = (
        f"SELECT {rows.SESSION} FROM sessions WHERE id >= ? AND id < ? "  # noqa: S608  # constant
        "ORDER BY updated_at DESC LIMIT ?"
    )
    found = conn.execute(query, (prefix, prefix + "\U0010ffff", _SHOWN + 1))
    return [rows.session_from(row) for row in found.fetchall()]


def _by_title(conn: sqlite3.Connection, wanted: str) -> list[Session]:
    """Compare in Python: SQLite folds the case of ASCII letters only."""
    folded = wanted.casefold()
    if not folded:
        return []
    titles = [
        (seq, title.casefold())
        for seq, title in conn.execute(
            "SELECT seq, title FROM sessions ORDER BY updated_at DESC, seq DESC"
        ).fetchall()
    ]
    exact = [seq for seq, title in titles if title == folded]
    found = exact or [seq for seq, title in titles if folded in title]
    return [_by_seq(conn, seq) for seq in found[: _SHOWN + 1]]


def _by_seq(conn: sqlite3.Connection, seq: int) -> Session:
    query = f"SELECT {rows.SESSION} FROM sessions WHERE seq = ?"  # noqa: S608  # constant
    return rows.session_from(conn.execute(query, (seq,)).fetchone())


def _not_one(reference: str, found: Sequence[Session]) -> SessionNotFound:
    shown = visible_line(reference)
    if not found:
        return SessionNotFound(
            f"no session is called {shown!r}",
            "Give an id, the first 4 or more characters of one, or a title: chatcli sessions list",
        )
    names = "; ".join(f"{s.id} {visible_line(s.title)}".strip() for s in found[:_SHOWN])
    more = "; ..." if len(found) > _SHOWN else ""
    return SessionNotFound(f"several sessions are called {shown!r}", f"Choose one: {names}{more}")


# -- by what was said --------------------------------------------------------------------


def search(conn: sqlite3.Connection, words: str, limit: int, *, indexed: bool) -> list[Hit]:
    """Find turns that hold all of `words`, best match first.

    With the index: words that begin so, accents and case ignored. Where that finds
    nothing, and without the index: the characters anywhere, newest first (the index
    knows no words inside a line of Chinese or Japanese).
    """
    wanted = [word for word in rows.storable(words).replace("\0", " ").split() if word]
    if not wanted:
        return []
    return (_match(conn, wanted, limit) if indexed else []) or _scan(conn, wanted, limit)


def _match(conn: sqlite3.Connection, wanted: Sequence[str], limit: int) -> list[Hit]:
    # Quoted, so that nothing in the words is query syntax; a word without a letter or a
    # digit is no token, and would match nothing.
    terms = ['"' + word.replace('"', '""') + '"*' for word in wanted if _is_token(word)]
    if not terms:
        return []
    query = (
        f"SELECT snippet(turns_fts, 0, '', '', '...', {_SNIPPET_TOKENS}), t.id, {_COLUMNS} "  # noqa: S608  # constants
        "FROM turns_fts JOIN turns AS t ON t.seq = turns_fts.rowid "
        "JOIN sessions AS s ON s.id = t.session "
        "WHERE turns_fts MATCH ? ORDER BY turns_fts.rank, t.seq DESC LIMIT ?"
    )
    found = conn.execute(query, (" ".join(terms), limit if limit > 0 else -1)).fetchall()
    return [Hit(rows.session_from(row), TurnId(turn), text) for text, turn, *row in found]


def _is_token(word: str) -> bool:
    return any(character.isalnum() for character in word)


def _scan(conn: sqlite3.Connection, wanted: Sequence[str], limit: int) -> list[Hit]:
    tests = " AND ".join(["t.words LIKE ? ESCAPE '\\'"] * len(wanted))
    query = (
        f"SELECT t.words, t.id, {_COLUMNS} FROM turns AS t "  # noqa: S608  # constants
        f"JOIN sessions AS s ON s.id = t.session WHERE {tests} ORDER BY t.seq DESC LIMIT ?"
    )
    patterns = [f"%{_literal(word)}%" for word in wanted]
    found = conn.execute(query, (*patterns, limit if limit > 0 else -1)).fetchall()
    return [
        Hit(rows.session_from(row), TurnId(turn), _around(text, wanted[0]))
        for text, turn, *row in found
    ]


def _literal(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _around(text: str, word: str) -> str:
    start = max(0, text.lower().find(word.lower()) - _SNIPPET_CHARS // 3)
    end = start + _SNIPPET_CHARS
    return ("..." if start else "") + text[start:end] + ("..." if end < len(text) else "")
