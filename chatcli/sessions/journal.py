"""The reply being written, piece by piece, in an append-only file: it survives `kill -9`.

A file for each open turn. One `write` for each piece, before it is shown, and no fsync:
what a process has written outlives the process, though not a power cut. A piece is

    kind (1 byte: T text, R reasoning) | n_bytes (u32 LE) | CRC-32 (u32 LE) | UTF-8 text

and reading stops at the first piece that is incomplete or damaged.
"""

import hashlib
import os
import re
import struct
import zlib
from collections.abc import Set as AbstractSet
from pathlib import Path

from chatcli import paths
from chatcli.core.errors import StorageError
from chatcli.core.event import Delta
from chatcli.core.session import TurnId

_HEAD = struct.Struct("<cII")
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def file_name(name: str) -> str:
    """Return an id as a file name; one that is no plain word (it was imported) is hashed."""
    return name if _SAFE.fullmatch(name) else "x" + hashlib.sha256(encoded(name)).hexdigest()


def encoded(text: str) -> bytes:
    """Encode any text; halves of surrogate pairs are kept."""
    return text.encode("utf-8", "surrogatepass")


class JournalFile:
    """The journal of one open turn."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._fd = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise _failed(path, error) from error

    def append(self, delta: Delta) -> None:
        """Write one piece.

        Raises:
            StorageError: the disk is full.
        """
        text = encoded(delta.text)
        kind = b"T" if delta.kind == "text" else b"R"
        piece = _HEAD.pack(kind, len(text), zlib.crc32(text)) + text
        try:
            while piece:
                piece = piece[os.write(self._fd, piece) :]
        except OSError as error:
            raise _failed(self._path, error) from error

    def close(self, *, remove: bool) -> None:
        """Close the file, and delete it unless it is to be recovered. May be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if remove:
            self._path.unlink(missing_ok=True)


class Journal:
    """The folder of journals."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self, turn: TurnId) -> JournalFile:
        """Start the journal of a turn."""
        return JournalFile(paths.private_dir(self._folder) / file_name(turn))

    def read(self, turn: TurnId) -> list[Delta]:
        """Return the whole pieces of a turn's journal; none if there is no file."""
        try:
            data = (self._folder / file_name(turn)).read_bytes()
        except FileNotFoundError:
            return []
        pieces = []
        at = 0
        while at + _HEAD.size <= len(data):
            kind, n_bytes, checksum = _HEAD.unpack_from(data, at)
            text = data[at + _HEAD.size : at + _HEAD.size + n_bytes]
            if kind not in b"TR" or len(text) < n_bytes or zlib.crc32(text) != checksum:
                break
            words = text.decode("utf-8", "surrogatepass")
            pieces.append(Delta("text" if kind == b"T" else "reasoning", words))
            at += _HEAD.size + n_bytes
        return pieces

    def remove(self, turn: TurnId) -> None:
        """Delete a turn's journal."""
        (self._folder / file_name(turn)).unlink(missing_ok=True)

    def names(self) -> set[str]:
        """Return the names of the files that are there."""
        try:
            return {path.name for path in self._folder.iterdir()}
        except FileNotFoundError:
            return set()

    def sweep(self, found: AbstractSet[str], open_turns: AbstractSet[TurnId]) -> None:
        """Delete those of the files `found` that belong to none of `open_turns`.

        `found` must have been listed before `open_turns` was read: a turn is in the
        database before its journal exists, so a journal of a new turn is never taken
        for an old one.
        """
        for name in found - {file_name(turn) for turn in open_turns}:
            (self._folder / name).unlink(missing_ok=True)


def _failed(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"cannot write {path}: {error.strerror or error}",
        "Free some space, or make the folder writable",
    )
