"""The identity of a file's content, by samples."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from chatcli.core.errors import CorruptModel
from chatcli.gguf.read import read_header

_SAMPLE_BYTES = 1024
_PIECE_BYTES = 1 << 20


def identity(path: Path) -> str:
    """Return the identity of a file's content, as 64 hex digits.

    sha256 over the header's bytes, the first, middle and last kilobyte of every tensor, and
    the size: a changed tokenizer, template, or tensor changes it, and a 5 GB file takes
    milliseconds. It does not replace the checksum of a download.

    Raises:
        CorruptModel: as `read_header`, or the file is cut off.
    """
    header = read_header(path)
    header.check_complete()
    digest = hashlib.sha256(header.file_bytes.to_bytes(8, "little"))
    try:
        with path.open("rb") as file:
            _feed(digest.update, file, header.data_offset)
            for tensor in sorted(header.tensors, key=lambda one: one.offset):
                start = header.data_offset + tensor.offset
                spare = max(0, tensor.n_bytes - _SAMPLE_BYTES)
                for at in (0, spare // 2, spare):
                    file.seek(start + at)
                    digest.update(file.read(min(_SAMPLE_BYTES, tensor.n_bytes)))
    except OSError as error:
        raise CorruptModel(f"cannot read {path}: {error.strerror or error}") from error
    return digest.hexdigest()


def _feed(update: Callable[[bytes], None], file: BinaryIO, n_bytes: int) -> None:
    while n_bytes > 0 and (piece := file.read(min(n_bytes, _PIECE_BYTES))):
        update(piece)
        n_bytes -= len(piece)
