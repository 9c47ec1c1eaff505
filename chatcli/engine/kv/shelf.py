"""Where the bytes of blocks are: files in folders, or this process's memory."""

import errno
import itertools
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from chatcli import paths
from chatcli.core.errors import StorageError
from chatcli.engine.kv.block import BadBlock, Block, Bytes

_SUFFIX = ".kv"
_STALE_S = 3600.0
"""A temporary file this old belongs to a process that died while writing it."""
_CACHEDIR_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# KV state of chatcli: can be deleted at any time. See https://bford.info/cachedir/\n"
)
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors of a disk or a quota that has no room left: deleting something helps."""


class Shelf(Protocol):
    """Keeps blocks by name."""

    def write(self, block: Block, header: bytes, payload: Bytes) -> int:
        """Keep a block; return the bytes it takes. Raises OSError, StorageError."""
        ...

    def read(self, namespace: bytes, name: bytes, buffer: bytearray) -> memoryview:
        """Return a block's bytes, in `buffer` where it is large enough.

        Raises:
            FileNotFoundError: there is none of this name.
            BadBlock: its size cannot be right.
            OSError: it cannot be read.
        """
        ...

    def remove(self, namespace: bytes, name: bytes) -> None:
        """Forget a block, if it is there."""
        ...


class Ram:
    """Blocks in memory, for a process that must not write."""

    def __init__(self) -> None:
        self._blocks: dict[bytes, bytes] = {}

    def write(self, block: Block, header: bytes, payload: Bytes) -> int:
        """Keep a block; return the bytes it takes."""
        self._blocks[block.id] = header + bytes(payload)
        return len(header) + len(payload)

    def read(self, namespace: bytes, name: bytes, buffer: bytearray) -> memoryview:  # noqa: ARG002  # as Shelf
        """Return a block's bytes in a buffer of their own: llama.cpp wants a writable one."""
        try:
            return memoryview(bytearray(self._blocks[name]))
        except KeyError:
            raise FileNotFoundError(name.hex()) from None

    def remove(self, namespace: bytes, name: bytes) -> None:  # noqa: ARG002  # as Shelf
        """Forget a block, if it is there."""
        self._blocks.pop(name, None)


class Files:
    """Blocks as files: ``NAMESPACE/ID[:2]/ID.kv`` (hex digits) in one private folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._temporary = folder / "tmp"
        self._numbers = itertools.count()

    def prepare(self) -> None:
        """Make the folder.

        Raises:
            StorageError: it cannot be made.
        """
        if not self._temporary.is_dir():
            paths.private_dir(self._temporary)
            with suppress(OSError):
                (self.folder / "CACHEDIR.TAG").write_text(_CACHEDIR_TAG, encoding="ascii")

    def path(self, namespace: bytes, name: bytes) -> Path:
        """Return where a block is."""
        digits = name.hex()
        return self.folder / namespace.hex()[:16] / digits[:2] / f"{digits}{_SUFFIX}"

    def write(self, block: Block, header: bytes, payload: Bytes) -> int:
        """Write a block aside, and put it in its place in one step; return its size.

        Nothing is forced to the disk: a file torn by a power cut fails its checksum, and is
        a miss.

        Raises:
            OSError: it cannot be written; nothing is left behind.
            StorageError: a folder cannot be made.
        """
        temporary = self._temporary / f"{os.getpid()}.{next(self._numbers)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            fd = os.open(temporary, flags, 0o600)
        except FileNotFoundError:  # the folder was deleted meanwhile
            paths.private_dir(self._temporary)
            fd = os.open(temporary, flags, 0o600)
        try:
            try:
                _write_all(fd, header)
                _write_all(fd, payload)
            finally:
                os.close(fd)
            _into_place(temporary, self.path(block.namespace, block.id))
        except (OSError, StorageError):
            with suppress(OSError):
                temporary.unlink()
            raise
        return len(header) + len(payload)

    def read(self, namespace: bytes, name: bytes, buffer: bytearray) -> memoryview:
        """Return a block's bytes, in `buffer` where it is large enough; as `Shelf` says."""
        with self.path(namespace, name).open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_FILE_BYTES:
                raise BadBlock(f"{size:,} bytes")
            if size > len(buffer):
                buffer = bytearray(size)
            view = memoryview(buffer)[:size]
            at = 0
            while at < size and (n := file.readinto(view[at:])):
                at += n
        if at < size:
            raise BadBlock("it shrank while it was read")
        return view

    def remove(self, namespace: bytes, name: bytes) -> None:
        """Delete a block's file, if it is there."""
        with suppress(OSError):
            self.path(namespace, name).unlink()

    def files(self) -> Iterator[Path]:
        """Yield the path of every block, whatever the index knows."""
        yield from self.folder.glob(f"*/??/*{_SUFFIX}")

    def sweep(self, *, everything: bool = False) -> None:
        """Delete temporary files that nobody writes any more, and empty folders."""
        oldest = time.time() - _STALE_S
        with suppress(OSError):
            for path in self._temporary.iterdir():
                if everything or path.stat().st_mtime < oldest:
                    path.unlink(missing_ok=True)
        for folder in (*self.folder.glob("*/??"), *self.folder.glob("????????????????")):
            with suppress(OSError):  # not empty: stays
                folder.rmdir()


MAX_FILE_BYTES = (1 << 32) + (1 << 16)


def _write_all(fd: int, data: Bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _into_place(temporary: Path, path: Path) -> None:
    try:
        temporary.rename(path)
    except FileNotFoundError:
        paths.private_dir(path.parent)
        temporary.rename(path)
