"""Which blocks there are: a SQLite file beside them, rebuilt from their headers when it is lost.

Its rows are hints. A row without a file is a miss, a file without a row is found by
`Store.verify`; what a row says is checked against the block's own header before it counts.
Therefore nothing here waits for the disk (`synchronous=OFF`).
"""

import sqlite3
import sys
import threading
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from chatcli.engine.kv.block import Block, Kind

VERSION = 1
_BUSY_S = 5.0
_ATTEMPTS = 100
_KINDS: tuple[Kind, ...] = ("cells", "checkpoint")

_SCHEMA = f"""
PRAGMA page_size=8192;  -- an index entry of 256 tokens fits a page
PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS blocks(
  id BLOB PRIMARY KEY, namespace BLOB NOT NULL, parent BLOB NOT NULL, tail BLOB NOT NULL,
  kind INTEGER NOT NULL, tokens BLOB NOT NULL, start INTEGER NOT NULL, n INTEGER NOT NULL,
  bytes INTEGER NOT NULL, last_used REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS by_tokens ON blocks(parent, kind, tokens);
CREATE INDEX IF NOT EXISTS by_use ON blocks(last_used, start, bytes);
CREATE TABLE IF NOT EXISTS refs(
  session TEXT NOT NULL, block BLOB NOT NULL, PRIMARY KEY(session, block)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_block ON refs(block);
CREATE TABLE IF NOT EXISTS namespaces(
  namespace BLOB PRIMARY KEY, library TEXT NOT NULL, model TEXT NOT NULL, path TEXT NOT NULL,
  prefill_per_s REAL NOT NULL DEFAULT 0, read_per_s REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS days(
  day TEXT PRIMARY KEY, turns INTEGER, memory INTEGER, disk INTEGER, evaluated INTEGER,
  read_bytes INTEGER, written_bytes INTEGER, saved_s REAL
) WITHOUT ROWID;
PRAGMA user_version={VERSION};
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A block as the index knows it; `bytes` is the size of its file."""

    block: Block
    id: bytes
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A namespace: what `namespace` stands for, and how fast things went in it."""

    namespace: bytes
    library: str = ""
    model: str = ""
    path: str = ""
    prefill_per_s: float = 0.0
    read_per_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What was done, in one turn or in a day: tokens, bytes, seconds not spent on evaluation."""

    turns: int = 0
    memory: int = 0
    disk: int = 0
    evaluated: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    saved_s: float = 0.0


_TALLY = tuple(field.name for field in fields(Tally))


def ordered(tokens: Sequence[int]) -> bytes:
    """Return token ids big-endian: the order of the bytes is the order of the tokens."""
    packed = array("I", tokens)
    if sys.byteorder == "little":
        packed.byteswap()
    return packed.tobytes()


def _from_ordered(data: bytes) -> tuple[int, ...]:
    packed = array("I", data)
    if sys.byteorder == "little":
        packed.byteswap()
    return tuple(packed)


def agreement(a: bytes, b: bytes) -> int:
    """Return how many tokens two ordered sequences have in common at their start."""
    n = min(len(a), len(b)) // 4
    if a[: 4 * n] == b[: 4 * n]:
        return n
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if a[4 * low : 4 * middle] == b[4 * low : 4 * middle]:
            low = middle
        else:
            high = middle
    return low


_Found: TypeAlias = tuple[bytes, bytes, bytes, bytes, int, bytes, int, int]
_COLUMNS = "id, namespace, parent, tail, kind, tokens, start, bytes"


def _row(found: _Found) -> Row:
    name, namespace, parent, tail, kind, tokens, start, n_bytes = found
    block = Block(namespace, parent, tail, start, _from_ordered(tokens), _KINDS[kind])
    return Row(block, name, n_bytes)


class Index:
    """The rows; any thread may call."""

    def __init__(self, path: Path | None) -> None:
        """Open the file at `path`, or an index in memory.

        Raises:
            sqlite3.Error: it is damaged, of another version, or cannot be made.
        """
        self._lock = threading.RLock()
        self._db = sqlite3.connect(
            path if path is not None else ":memory:",
            timeout=_BUSY_S,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self.is_new = self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> bool:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"an index of version {version}")
        self._db.execute("PRAGMA synchronous=OFF")
        if version == 0:
            self._create()
        return bool(version == 0)

    def _create(self) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                self._db.executescript(_SCHEMA)
            except sqlite3.OperationalError:  # another process is making it; WAL does not wait
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(0.02)
            else:
                return

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _rows(self, sql: str, *values: object) -> list[Any]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    # -- looking -------------------------------------------------------------------------

    def whole(self, parent: bytes, wanted: bytes) -> list[Row]:
        """Return the blocks behind `parent` that `wanted` (ordered) begins with, longest first.

        The largest tokens that are <= `wanted` are one of them, or agree with it for a while:
        any shorter one is then a prefix of what is agreed on. A look-up or two find all among
        any number of siblings.
        """
        found = []
        while wanted and (row := self._neighbour(parent, wanted, "<=", "DESC")):
            n = 4 * agreement(row[5], wanted)
            if n == len(row[5]):
                found.append(_row(row))
                n -= 4
            wanted = wanted[:n]
        return found

    def nearest(self, parent: bytes, wanted: bytes) -> tuple[Row, int] | None:
        """Return the block behind `parent` that agrees the furthest with `wanted`, and how far.

        Among sorted siblings it stands right before or right behind `wanted`.
        """
        below = self._neighbour(parent, wanted, "<=", "DESC")
        above = self._neighbour(parent, wanted, ">", "ASC")
        rows = [(agreement(row[5], wanted), row) for row in (below, above) if row]
        if not rows:
            return None
        n, row = max(rows, key=lambda pair: pair[0])
        return (_row(row), n) if n else None

    def _neighbour(self, parent: bytes, wanted: bytes, relation: str, order: str) -> _Found | None:
        sql = (
            f"SELECT {_COLUMNS} FROM blocks WHERE parent=? AND kind=0"  # noqa: S608  # our words
            f" AND tokens{relation}? ORDER BY tokens {order} LIMIT 1"
        )
        with self._lock:
            row: _Found | None = self._db.execute(sql, (parent, wanted)).fetchone()
        return row

    def checkpoint(self, key: bytes) -> Row | None:
        """Return the recurrent state behind the prefix of this key."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM blocks WHERE parent=? AND kind=1", key)  # noqa: S608
        return _row(rows[0]) if rows else None

    def has(self, block_id: bytes) -> bool:
        """Whether a block is known."""
        return bool(self._rows("SELECT 1 FROM blocks WHERE id=?", block_id))

    def get(self, block_id: bytes) -> Row | None:
        """Return the row of a block."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM blocks WHERE id=?", block_id)  # noqa: S608
        return _row(rows[0]) if rows else None

    @property
    def n_bytes(self) -> int:
        """The sum of all files."""
        return int(self._rows("SELECT coalesce(sum(bytes), 0) FROM blocks")[0][0])

    def ids(self) -> set[bytes]:
        """Return the ids of all blocks."""
        return {row[0] for row in self._rows("SELECT id FROM blocks")}

    def rows(self, namespace: bytes | None = None) -> list[Row]:
        """Return all blocks, or those of one namespace."""
        where = "" if namespace is None else " WHERE namespace=?"
        values = () if namespace is None else (namespace,)
        return [_row(r) for r in self._rows(f"SELECT {_COLUMNS} FROM blocks{where}", *values)]  # noqa: S608

    def space(self, namespace: bytes) -> Space | None:
        """Return what is known of a namespace."""
        return next((s for s in self.spaces() if s.namespace == namespace), None)

    def spaces(self) -> list[Space]:
        """Return all namespaces."""
        columns = [field.name for field in fields(Space)]
        rows = self._rows(f"SELECT {', '.join(columns)} FROM namespaces")  # noqa: S608
        return [Space(**dict(zip(columns, row, strict=True))) for row in rows]

    def per_space(self) -> dict[bytes, tuple[int, int, int]]:
        """Return blocks, tokens and bytes of each namespace that has any."""
        sql = "SELECT namespace, count(*), sum(n), sum(bytes) FROM blocks GROUP BY namespace"
        return {row[0]: row[1:] for row in self._rows(sql)}

    def days(self) -> dict[str, Tally]:
        """Return what was done each day (UTC), in order."""
        rows = self._rows(f"SELECT day, {', '.join(_TALLY)} FROM days ORDER BY day")  # noqa: S608
        return {row[0]: Tally(**dict(zip(_TALLY, row[1:], strict=True))) for row in rows}

    def leaves(self, n: int, dead: Sequence[bytes] | None = None) -> list[Row]:
        """Return at most `n` blocks that no other follows, least recently used first.

        With `dead`, only those of these namespaces.
        """
        marks = ",".join("?" * len(dead or ()))
        among = "" if dead is None else f" AND b.namespace IN ({marks})"
        sql = (
            f"SELECT {_COLUMNS} FROM blocks b WHERE"  # noqa: S608  # our words and marks
            " NOT EXISTS (SELECT 1 FROM blocks c WHERE c.parent=b.tail AND c.id<>b.id)"
            f"{among} ORDER BY last_used, start DESC LIMIT ?"
        )
        return [_row(row) for row in self._rows(sql, *(dead or ()), n)]

    def surplus(self, session: str, n: int) -> list[Row]:
        """Return all but the last `n` recurrent states of a session."""
        sql = (
            f"SELECT {_COLUMNS} FROM blocks JOIN refs ON block=id"  # noqa: S608  # our words
            " WHERE session=? AND kind=1 ORDER BY last_used DESC, start DESC LIMIT -1 OFFSET ?"
        )
        return [_row(row) for row in self._rows(sql, session, n)]

    # -- changing ------------------------------------------------------------------------

    def add(self, rows: Iterable[Row], used_at: float | None = None) -> None:
        """Add blocks; one that is there already is left as it is."""
        now = time.time() if used_at is None else used_at
        values = [
            (
                row.id,
                row.block.namespace,
                row.block.parent,
                row.block.tail,
                _KINDS.index(row.block.kind),
                ordered(row.block.tokens),
                row.block.start,
                len(row.block.tokens),
                row.bytes,
                now,
            )
            for row in rows
        ]
        with self._change() as db:
            db.executemany("INSERT OR IGNORE INTO blocks VALUES(?,?,?,?,?,?,?,?,?,?)", values)

    def use(self, session: str, ids: Iterable[bytes]) -> None:
        """Note that a session needs these blocks, and that they were used now."""
        now = time.time()
        ids = list(ids)
        with self._change() as db:
            db.executemany("UPDATE blocks SET last_used=? WHERE id=?", [(now, i) for i in ids])
            db.executemany(
                "INSERT OR IGNORE INTO refs SELECT ?, id FROM blocks WHERE id=?",
                [(session, i) for i in ids],
            )

    def remove(self, ids: Iterable[bytes]) -> None:
        """Forget blocks."""
        gone = [(i,) for i in ids]
        with self._change() as db:
            db.executemany("DELETE FROM blocks WHERE id=?", gone)
            db.executemany("DELETE FROM refs WHERE block=?", gone)

    def release(self, sessions: Iterable[str]) -> list[Row]:
        """Forget what sessions needed; return the blocks that no session needs now.

        A block that no session ever asked for is among them: the index was rebuilt, and whose
        it was is no longer known.
        """
        with self._change() as db:
            db.executemany("DELETE FROM refs WHERE session=?", [(s,) for s in sessions])
            sql = (
                f"SELECT {_COLUMNS} FROM blocks"  # noqa: S608
                " WHERE NOT EXISTS (SELECT 1 FROM refs WHERE block=id)"
            )
            return [_row(row) for row in db.execute(sql).fetchall()]

    def know(self, space: Space) -> None:
        """Add or replace a namespace."""
        columns = [field.name for field in fields(Space)]
        sql = f"INSERT OR REPLACE INTO namespaces({', '.join(columns)}) VALUES(?,?,?,?,?,?)"
        with self._change() as db:
            db.execute(sql, [getattr(space, name) for name in columns])

    def count(self, tally: Tally) -> None:
        """Add to today's tally."""
        sums = ", ".join(f"{name}={name}+excluded.{name}" for name in _TALLY)
        sql = (
            f"INSERT INTO days(day, {', '.join(_TALLY)}) VALUES(?,?,?,?,?,?,?,?)"
            f" ON CONFLICT(day) DO UPDATE SET {sums}"
        )
        day = time.strftime("%Y-%m-%d", time.gmtime())
        with self._change() as db:
            db.execute(sql, [day, *(getattr(tally, name) for name in _TALLY)])
