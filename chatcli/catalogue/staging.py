"""A file being downloaded: `NAME.partial`, and beside it what is known of it.

Knows how much is there, where it came from, and its running checksum. Knows no network.
"""

import errno
import fcntl
import hashlib
import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

from chatcli import paths
from chatcli.catalogue.progress import Progress, quiet_progress, readable_bytes
from chatcli.core.errors import CorruptModel, DownloadError, StorageError
from chatcli.gguf import read_header

_PIECE_BYTES = 1 << 20
_SPARE_BYTES = 64 << 20  # left free for whatever else the machine writes meanwhile


def storage_error(path: Path, error: OSError) -> StorageError:
    """Return what an OSError of a write means for the user."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(
            f"the disk is full: {path} could not be written",
            "Free space and run the command again: it goes on where it stopped",
        )
    return StorageError(f"cannot write {path}: {error.strerror or error}")


def require_space(folder: Path, n_bytes: int) -> None:
    """Check that `n_bytes` more fit on the disk of `folder`.

    Raises:
        StorageError: they do not; names what is needed and what is free.
    """
    free = shutil.disk_usage(folder).free
    if free < n_bytes + _SPARE_BYTES:
        raise StorageError(
            f"{readable_bytes(n_bytes + _SPARE_BYTES)} are needed in {folder}, "
            f"{readable_bytes(free)} are free",
            "Free space, or set XDG_DATA_HOME to a folder on a larger disk",
        )


class Partial:
    """The unfinished file of `target`, open for appending; a context manager."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.partial")
        self._facts_path = target.with_name(f"{target.name}.partial.json")
        self.facts = self._read_facts()
        self.size = 0
        self._loaded = False
        self._digest = hashlib.sha256()
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        paths.private_dir(self.target.parent)
        try:
            self._file = self.path.open("r+b" if self.path.exists() else "w+b")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:  # under another name of the same model
            self.__exit__()
            raise DownloadError(
                f"another process is downloading {self.target.name}", "Try again when it is done"
            ) from error
        except OSError as error:
            raise storage_error(self.path, error) from error
        self.size = self._file.seek(0, 2)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            # On a full disk the close fails once more; what matters was flushed before.
            with suppress(OSError):
                self._file.close()
            self._file = None

    def _read_facts(self) -> dict[str, object]:
        try:
            facts = json.loads(self._facts_path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return facts if isinstance(facts, dict) else {}

    @property
    def _out(self) -> BinaryIO:
        if self._file is None:
            raise ValueError("the partial file is closed")
        return self._file

    def note(self, **facts: object) -> None:
        """Keep what a later run must know to go on."""
        self.facts = facts
        try:
            self._facts_path.write_text(json.dumps(facts), encoding="utf-8")
        except OSError as error:
            raise storage_error(self._facts_path, error) from error

    def load(self, progress: Progress, total_bytes: int) -> None:
        """Hash what is here from an earlier run; once."""
        if not self._loaded:
            self.keep(self.size, progress, total_bytes)

    def start_over(self) -> None:
        """Forget what is here."""
        self.keep(0, quiet_progress, 0)
        self.note()

    def keep(self, n_bytes: int, progress: Progress, total_bytes: int) -> None:
        """Cut the file to its first `n_bytes`, and hash them."""
        self._out.truncate(n_bytes)
        self._out.seek(0)
        self._digest = hashlib.sha256()
        self.size, self._loaded = 0, True
        while self.size < n_bytes:
            piece = self._out.read(min(_PIECE_BYTES, n_bytes - self.size))
            if not piece:
                break
            self._digest.update(piece)
            self.size += len(piece)
            progress(self.size, total_bytes, "check")

    def append(self, piece: bytes) -> None:
        """Write and hash what arrived.

        Raises:
            StorageError: the disk is full.
        """
        try:
            self._out.write(piece)
        except OSError as error:
            raise storage_error(self.path, error) from error
        self._digest.update(piece)
        self.size += len(piece)

    def flush(self) -> None:
        """Hand what is buffered to the system, so that a kill loses nothing."""
        try:
            self._out.flush()
        except OSError as error:
            raise storage_error(self.path, error) from error

    def discard(self) -> None:
        """Remove the file and what was known of it."""
        self.__exit__()
        self.path.unlink(missing_ok=True)
        self._facts_path.unlink(missing_ok=True)

    def finish(self, *, sha256: str, n_bytes: int) -> str:
        """Verify the file and give it its final name; return its sha256.

        Raises:
            CorruptModel: size, checksum or header do not agree; the file is removed.
        """
        self.flush()
        found = self._digest.hexdigest()
        try:
            self._verify(found, sha256, n_bytes)
        except CorruptModel:
            self.discard()
            raise
        self.__exit__()
        try:
            self.path.replace(self.target)
        except OSError as error:
            raise storage_error(self.target, error) from error
        self._facts_path.unlink(missing_ok=True)
        return found

    def _verify(self, found: str, sha256: str, n_bytes: int) -> None:
        remedy = "Nothing of it was kept; run the command again"
        if n_bytes and self.size != n_bytes:
            raise CorruptModel(
                f"{self.target.name} arrived with {self.size:,} bytes instead of {n_bytes:,}",
                remedy,
            )
        if sha256 and found != sha256:
            raise CorruptModel(
                f"{self.target.name} has the checksum {found[:16]}... "
                f"instead of {sha256[:16]}...: it is not the file that was published",
                remedy,
            )
        try:
            read_header(self.path).check_complete()
        except CorruptModel as error:
            reason = error.message.removeprefix(f"{self.path} ")
            raise CorruptModel(f"{self.target.name} as downloaded {reason}", remedy) from error
