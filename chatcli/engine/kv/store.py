"""The store: blocks, their index, a budget, and one thread that writes.

Knows bytes, tokens and sessions' names; does not know llama.cpp. Several processes may use
one folder: files appear and vanish in one step, a block that vanished is only a miss.
Nothing here raises for a disk that is full or an index that is damaged: fewer blocks are
kept, and the chat goes on.
"""

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from chatcli import paths
from chatcli.core.errors import StorageError
from chatcli.engine.kv.block import BadBlock, Block, Bytes, Head, encode, header_bytes, verified
from chatcli.engine.kv.index import Index, Row, Space, Tally
from chatcli.engine.kv.match import Match, match
from chatcli.engine.kv.rebuild import rebuild
from chatcli.engine.kv.shelf import FULL, Files, Ram, Shelf
from chatcli.engine.kv.writer import Writer

MAX_BYTES = 10 * 10**9
DISK_SHARE = 0.1
"""Default budget: the smaller of `MAX_BYTES` and this share of the free disk."""
RAM_BYTES = 10**9
_EVICT_TO = 0.95
"""Evicting a little more than is needed keeps it from being needed at every block."""
_LEAVES = 64
CHECKPOINTS = 3
"""Recurrent states that a session keeps, of its last turns: each is as large as the first."""

T = TypeVar("T")


def kv_dir() -> Path:
    """Where blocks are kept."""
    return paths.cache_dir() / "kv"


def open_disk(folder: Path | None = None, budget_bytes: int | None = None) -> "Store":
    """Open the store in `folder` (None: the user's).

    Raises:
        StorageError: the folder cannot be made or used.
    """
    files = Files(folder if folder is not None else kv_dir())
    files.prepare()
    path = files.folder / "index.db"
    try:
        index = _opened(path, files)
        free = shutil.disk_usage(files.folder).free
    except (OSError, sqlite3.Error) as error:
        raise StorageError(f"cannot use {files.folder}: {error}") from error
    budget = budget_bytes if budget_bytes is not None else min(MAX_BYTES, int(free * DISK_SHARE))
    return Store(files, index, budget, remake=lambda: _remade(path, files))


def open_ram(budget_bytes: int | None = None) -> "Store":
    """Make a store that lives and dies with this process."""
    return Store(Ram(), Index(None), RAM_BYTES if budget_bytes is None else budget_bytes)


def _opened(path: Path, files: Files) -> Index:
    try:
        index = Index(path)
    except sqlite3.OperationalError:  # locked, or a disk that cannot be written: not damaged
        raise
    except sqlite3.DatabaseError:
        return _remade(path, files)
    if index.is_new:
        rebuild(index, files)
    return index


def _remade(path: Path, files: Files) -> Index:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    index = Index(path)
    rebuild(index, files)
    return index


class Store:
    """Blocks of KV state. `put` and `note` return at once; the writer does the work."""

    def __init__(
        self,
        shelf: Shelf,
        index: Index,
        budget_bytes: int,
        *,
        remake: Callable[[], Index] | None = None,
    ) -> None:
        self.shelf = shelf
        self.index = index
        self.budget_bytes = budget_bytes
        self.library = ""
        self._remake = remake
        self._writer = Writer()
        self._pinned: frozenset[bytes] = frozenset()
        self._n_bytes: int | None = None
        self._broken = threading.Lock()
        self._lost: set[bytes] = set()

    def close(self) -> None:
        """Write what is queued, and let go of the files."""
        self._writer.close()
        self.index.close()

    def flush(self) -> None:
        """Wait until everything is written."""
        self._writer.flush()

    def _asked(self, ask: Callable[[Index], T], otherwise: T) -> T:
        """Ask the index; a damaged one is made anew, and has no answer this time."""
        index = self.index
        try:
            return ask(index)
        except sqlite3.OperationalError:  # locked for long, or the disk is full
            return otherwise
        except sqlite3.DatabaseError:
            self._heal(index)
            return otherwise

    def _heal(self, damaged: Index) -> None:
        with self._broken:
            if self.index is damaged and self._remake is not None:
                with suppress(OSError, sqlite3.Error):
                    damaged.close()
                    self.index = self._remake()

    # -- reading -------------------------------------------------------------------------

    def match(self, namespace: bytes, ids: Sequence[int], start: int = 0) -> Match:
        """Return the blocks that cover the most of `ids`, from `start` on."""
        return self._asked(lambda index: match(index, namespace, ids, start), Match((), start))

    def space(self, namespace: bytes) -> Space | None:
        """Return what is known of a namespace."""
        return self._asked(lambda index: index.space(namespace), None)

    def checkpoint(self, key: bytes) -> Row | None:
        """Return the recurrent state behind the prefix of this key."""
        return self._asked(lambda index: index.checkpoint(key), None)

    def has(self, block_id: bytes) -> bool:
        """Whether a block is known."""
        return self._asked(lambda index: index.has(block_id), otherwise=False)

    def read(self, row: Row, buffer: bytearray) -> tuple[Head, memoryview]:
        """Read a block, in `buffer` if that is large enough; every byte is checked.

        Raises:
            BadBlock: it is damaged, or another one than the index says; it is dropped.
            OSError: it is gone, or cannot be read.
        """
        try:
            data = self.shelf.read(row.block.namespace, row.id, buffer)
            head = _meant(verified(data), row)
        except BadBlock:
            self.drop([row])
            raise
        except OSError:
            self._asked(lambda index: index.remove([row.id]), None)
            raise
        return head, data[head.header_bytes :]

    def drop(self, rows: Iterable[Row]) -> None:
        """Delete blocks."""
        rows = list(rows)
        self._asked(lambda index: index.remove([row.id for row in rows]), None)
        for row in rows:
            self.shelf.remove(row.block.namespace, row.id)
            if self._n_bytes is not None:
                self._n_bytes -= row.bytes

    # -- writing -------------------------------------------------------------------------

    def pin(self, ids: Iterable[bytes]) -> None:
        """Keep these blocks from being evicted, and no others."""
        self._pinned = frozenset(ids)

    @property
    def is_idle(self) -> bool:
        """Whether everything is written."""
        return self._writer.is_idle

    def put(self, block: Block, payload: Bytes) -> int:
        """Keep a block, soon; return its size. A full disk or budget drops it silently."""
        self._writer.submit(lambda: self._write(block, payload), len(payload))
        return header_bytes(block) + len(payload)

    def note(self, session: str, ids: Iterable[bytes], tally: Tally, space: Space) -> None:
        """Note what a turn of a session used and did."""
        ids = list(ids)
        none: list[Row] = []

        def write(index: Index) -> list[Row]:
            index.use(session, ids)
            index.count(tally)
            index.know(space)
            return index.surplus(session, CHECKPOINTS)

        self._writer.submit(lambda: self.drop(self._asked(write, none)))

    def _write(self, block: Block, payload: Bytes) -> None:
        n_bytes = header_bytes(block) + len(payload)
        if (
            block.parent in self._lost  # nothing leads to it
            or not self._room_for(n_bytes)
            or not self._shelved(block, payload, n_bytes)
        ):
            self._lost.add(block.tail)
            return
        self._lost.discard(block.tail)
        row = Row(block, block.id, n_bytes)
        self._asked(lambda index: index.add([row]), None)
        self._n_bytes = self.total_bytes + n_bytes

    def _shelved(self, block: Block, payload: Bytes, n_bytes: int) -> bool:
        header = encode(block, payload)
        try:
            self.shelf.write(block, header, payload)
        except StorageError:
            return False
        except OSError as error:
            if error.errno not in FULL or not self.evict(n_bytes + self.total_bytes // 10):
                return False
            with suppress(OSError, StorageError):
                self.shelf.write(block, header, payload)
                return True
            return False
        return True

    @property
    def total_bytes(self) -> int:
        """Bytes of all blocks; what other processes did is seen when evicting."""
        if self._n_bytes is None:
            self._n_bytes = self._asked(lambda index: index.n_bytes, 0)
        return self._n_bytes

    def _room_for(self, n_bytes: int) -> bool:
        if self.total_bytes + n_bytes <= self.budget_bytes:
            return True
        if n_bytes > self.budget_bytes:
            return False
        self._n_bytes = None  # other processes write and evict, too
        over = self.total_bytes + n_bytes - int(self.budget_bytes * _EVICT_TO)
        self.evict(over)
        return self.total_bytes + n_bytes <= self.budget_bytes

    def evict(self, n_bytes: int) -> int:
        """Delete blocks of at least `n_bytes`: dead namespaces first, then the least used.

        Only blocks that none follows go, and none of the chain in use. Returns the bytes
        that were freed, which may be fewer.
        """
        freed = 0
        for among in (self.dead(), None):
            while freed < n_bytes and among != []:
                going = []
                for row in self._leaves(among):
                    if freed < n_bytes:
                        going.append(row)
                        freed += row.bytes
                if not going:
                    break
                self.drop(going)
        return freed

    def _leaves(self, among: list[bytes] | None) -> list[Row]:
        none: list[Row] = []
        n = _LEAVES + len(self._pinned)
        found = self._asked(lambda index: index.leaves(n, among), none)
        return [row for row in found if row.id not in self._pinned]

    def dead(self) -> list[bytes]:
        """Return the namespaces that nothing can use again.

        Their blocks were made by other library files, or their model is gone.
        """
        none: list[Space] = []
        spaces = self._asked(lambda index: index.spaces(), none)
        return [
            space.namespace
            for space in spaces
            if (self.library and space.library != self.library) or not Path(space.path).exists()
        ]

    def forget(self, sessions: Iterable[str]) -> int:
        """Delete the blocks that only these sessions needed; return how many."""
        none: list[Row] = []
        rows = self._asked(lambda index: index.release(sessions), none)
        self.drop(rows)
        return len(rows)


def _meant(head: Head, row: Row) -> Head:
    if head.block != row.block:
        raise BadBlock("another block than the index says")
    return head


def forget_sessions(sessions: Iterable[str]) -> int:
    """Delete from the user's store what only these sessions needed; return how many blocks.

    Works without an engine; a store that was never made is not made now.
    """
    if not kv_dir().is_dir():
        return 0
    try:
        store = open_disk()
    except StorageError:
        return 0
    try:
        return store.forget(sessions)
    finally:
        store.close()
