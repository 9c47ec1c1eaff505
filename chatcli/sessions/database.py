"""One SQLite connection: safe opening, transactions, and errors in the user's words.

It knows the file and its settings; what the tables hold is `rows`' business.
"""

import fcntl
import os
import sqlite3
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from chatcli import paths
from chatcli.core.errors import StorageError, StoreError
from chatcli.sessions import schema
from chatcli.sessions.checked import Malformed

_MAGIC = b"SQLite format 3\0"
_BUSY_S = 10.0
_SETTINGS = """
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA synchronous = FULL;
PRAGMA temp_store = MEMORY;
"""
# synchronous=FULL makes each commit wait for the disk in WAL mode
# (https://www.sqlite.org/pragma.html#pragma_synchronous); temp_store keeps text out of
# temporary files; secure_delete overwrites what is deleted with zeros.


class Database:
    """The session database, opened; usable from several threads, one at a time.

    `index` False does without the search index, as on an SQLite without FTS5.

    Raises:
        StoreError: the file is from a newer version, damaged, not ours, or read-only.
    """

    def __init__(self, path: Path, *, index: bool = True) -> None:
        self.path = path
        self._lock = threading.RLock()
        paths.private_dir(path.parent)
        with explained(path):
            version = _look(path)
            _make_private(path)
            self.conn = _connect(path)
            try:
                if version < schema.VERSION:
                    self._upgrade()
                self.indexed = index and schema.has_fts5(self.conn)
                if schema.is_indexed(self.conn) != self.indexed:
                    self._sync_index()
            except BaseException:
                self.conn.close()
                raise

    def _upgrade(self) -> None:
        """Create or migrate, one process at a time."""
        with _alone(self.path):
            if (version := _user_version(self.conn)) > schema.VERSION:
                raise _newer(self.path, version)
            if version < schema.VERSION:
                # Both write the header at once, outside of any transaction.
                self.conn.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
                self.conn.execute("PRAGMA journal_mode = WAL").fetchone()
                schema.migrate(self.conn)

    def _sync_index(self) -> None:
        with _alone(self.path):
            if schema.is_indexed(self.conn) != self.indexed:
                (schema.add_index if self.indexed else schema.detach_index)(self.conn)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection to this thread; SQLite's errors become ours."""
        with self._lock, explained(self.path):
            yield self.conn

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction: all of it is durable at the end, or none is."""
        with self._lock, explained(self.path):
            self.conn.execute("BEGIN IMMEDIATE")
            try:
                yield self.conn
                self.conn.execute("COMMIT")
            except BaseException:
                if self.conn.in_transaction:
                    self.conn.execute("ROLLBACK")
                raise

    def forget(self, conn: sqlite3.Connection) -> None:
        """Merge the search index, inside the transaction that deleted something.

        Deleted words stay in the segments of an FTS5 index until they are merged
        (https://www.sqlite.org/fts5.html, "optimize").
        """
        if self.indexed:
            conn.execute("INSERT INTO turns_fts (turns_fts) VALUES ('optimize')")

    def empty_wal(self) -> None:
        """Move the WAL into the file and truncate it, so that no deleted text is left in it.

        Raises:
            StoreError: another process has been reading all the while.
        """
        with self.reading() as conn:
            busy, _, _ = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreError(
                "deleted, but another process still reads the database, so that traces are left",
                "Close the other chatcli: the traces go with the last one that is closed",
            )

    def close(self) -> None:
        """Close the file; the last process to close it empties the WAL."""
        with self._lock:
            self.conn.close()


def _connect(path: Path) -> sqlite3.Connection:
    conn = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        conn.executescript(_SETTINGS)
    except BaseException:
        conn.close()
        raise
    return conn


def _user_version(conn: sqlite3.Connection) -> int:
    version: int = conn.execute("PRAGMA user_version").fetchone()[0]
    return version


# -- looking before touching -------------------------------------------------------------


def _look(path: Path) -> int:
    """Return the file's version, 0 for a new file, without writing anything.

    The header's layout: https://www.sqlite.org/fileformat.html#the_database_header
    """
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreError(
            f"cannot read {path}: {error.strerror or error}", "Check who owns it, and its mode"
        ) from error
    if not header:
        return 0
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise _damaged(path, "it does not begin as an SQLite database does")
    version, application = struct.unpack_from(">i4xi", header, 60)
    if application != schema.APPLICATION_ID:
        raise StoreError(
            f"{path} is a database of another program", "Move it away; chatcli makes a new one"
        )
    if path.with_name(path.name + "-wal").exists():
        # A newer version may have died with its changes still in the WAL. A read-only
        # connection does not move them into the file when it is closed.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as conn:
            version = _user_version(conn)
    if version > schema.VERSION:
        raise _newer(path, version)
    return int(version)


def _newer(path: Path, version: int) -> StoreError:
    return StoreError(
        f"{path} was written by a newer chatcli (its version is {version}, "
        f"this program knows {schema.VERSION}); it was left untouched",
        "Update chatcli, or set XDG_DATA_HOME to another folder",
    )


def _make_private(path: Path) -> None:
    """Make the file 0600, whatever the umask; SQLite gives -wal and -shm the same mode."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _read_only(path) from error
    try:
        if os.fstat(fd).st_mode & 0o777 != 0o600:
            os.fchmod(fd, 0o600)
    finally:
        os.close(fd)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from changing the schema meanwhile."""
    fd = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


# -- errors ------------------------------------------------------------------------------


def _damaged(path: Path, detail: str) -> StoreError:
    return StoreError(
        f"the session database {path} is damaged: {detail}",
        f"Put a backup in its place, or move it away and start anew: mv {path} {path}.damaged",
    )


def _read_only(path: Path) -> StoreError:
    return StoreError(
        f"the session database {path} cannot be written",
        "Make the file and its folder writable, set XDG_DATA_HOME to a folder that is, "
        "or keep nothing with -n",
    )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, each with what can be done about it."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(path, error) from error
    except Malformed as error:
        raise _damaged(path, str(error)) from error


def _explain(path: Path, error: sqlite3.Error) -> StoreError | StorageError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return _damaged(path, str(error))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return _read_only(path)
    if code == sqlite3.SQLITE_FULL:
        return StorageError(f"the disk is full: {path} could not be written", "Free some space")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(
            f"another process has been writing to {path} for over {_BUSY_S:.0f} s",
            "Wait for it to end, then try again",
        )
    if code == sqlite3.SQLITE_CONSTRAINT:
        return StoreError(f"an id is in the session database already, or is not: {error}")
    return StoreError(f"the session database {path} failed: {error}", "Run: chatcli doctor")
