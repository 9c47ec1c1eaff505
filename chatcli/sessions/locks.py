"""Which process holds which session: a lock file for each one that is held.

`flock` belongs to the open file, so the system lets go of it when the process dies, in
whatever way; a file that was left behind holds nothing.
"""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chatcli import paths
from chatcli.core.errors import SessionBusy, StorageError
from chatcli.core.session import SessionId
from chatcli.sessions.journal import file_name

_PATIENCE_S = 0.2
"""How long to try: another process that opens the store holds dead sessions for moments."""


class Locks:
    """The sessions that this store holds. A session may be held several times over."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[SessionId, tuple[int, int]] = {}  # file descriptor, times held
        self._guard = threading.RLock()

    @contextmanager
    def hold(self, session_id: SessionId, patience_s: float = _PATIENCE_S) -> Iterator[bool]:
        """Hold a session until the end of the block; True if it was not held before.

        Raises:
            SessionBusy: another process, or another store of this one, holds it.
        """
        first = self._take(session_id, patience_s)
        try:
            yield first
        finally:
            self._give(session_id)

    def sweep(self) -> None:
        """Delete the lock files that dead processes left."""
        with suppress(FileNotFoundError):
            for path in self._folder.iterdir():
                with suppress(OSError):
                    _delete_dead(path)

    def _take(self, session_id: SessionId, patience_s: float) -> bool:
        with self._guard:
            fd, times = self._held.get(session_id, (-1, 0))
            if not times:
                fd = self._lock(session_id, time.monotonic() + patience_s)
            self._held[session_id] = (fd, times + 1)
            return times == 0

    def _lock(self, session_id: SessionId, until: float) -> int:
        path = paths.private_dir(self._folder) / file_name(session_id)
        while True:
            try:
                fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise _failed(path, error) from error
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.pread(fd, 20, 0).decode("ascii", "replace")
                os.close(fd)
                if time.monotonic() >= until:
                    raise _busy(session_id, owner) from None
                time.sleep(0.01)
                continue
            except OSError as error:  # a file system without locks
                os.close(fd)
                raise _failed(path, error) from error
            if _is_still(path, fd):
                _sign(fd)
                return fd
            os.close(fd)  # its holder deleted it between our opening and our locking

    def _give(self, session_id: SessionId) -> None:
        with self._guard:
            fd, times = self._held.pop(session_id)
            if times > 1:
                self._held[session_id] = (fd, times - 1)
                return
            # Deleted while it is still locked: who opened it before looks again.
            (self._folder / file_name(session_id)).unlink(missing_ok=True)
            os.close(fd)


def _delete_dead(path: Path) -> None:
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_still(path, fd):
            path.unlink()
    finally:
        os.close(fd)


def _is_still(path: Path, fd: int) -> bool:
    mine = os.fstat(fd)
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def _sign(fd: int) -> None:
    with suppress(OSError):  # a full disk: the lock holds all the same, without a name
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)


def _busy(session_id: SessionId, owner: str) -> SessionBusy:
    who = f"process {owner}" if owner.isdecimal() else "another process"
    return SessionBusy(
        f"session {session_id} is open in {who}", "Close it there, or use --fork to go on in a copy"
    )


def _failed(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"cannot lock {path}: {error.strerror or error}",
        "Free some space, or make the folder writable",
    )
