"""From the files back to the index, and whether every file is what it says."""

import os
from dataclasses import dataclass
from pathlib import Path

from chatcli.engine.kv.block import MAX_TOKENS, BadBlock, Head, decode, verified
from chatcli.engine.kv.index import Index, Row
from chatcli.engine.kv.shelf import Files

_HEADER_BYTES = 256 + 4 * MAX_TOKENS
"""No header is longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What a look at every file found. `damaged` files are deleted, `unknown` ones indexed."""

    blocks: int = 0
    n_bytes: int = 0
    damaged: int = 0
    unknown: int = 0
    missing: int = 0


def rebuild(index: Index, files: Files) -> None:
    """Read every header, and index what is a block. Whose it was is not in the files."""
    for path in files.files():
        try:
            with path.open("rb", buffering=0) as file:
                stat = os.fstat(file.fileno())
                head = _named(decode(file.read(_HEADER_BYTES)), path, stat.st_size)
        except (BadBlock, OSError):
            path.unlink(missing_ok=True)
            continue
        row = Row(head.block, head.block.id, head.file_bytes)
        index.add([row], used_at=stat.st_mtime)


def verify(index: Index, files: Files) -> Verified:
    """Check every byte of every file; delete what is damaged, and set the index right."""
    known = index.ids()
    blocks = n_bytes = damaged = unknown = 0
    seen = set()
    for path in files.files():
        try:
            data = path.read_bytes()
            head = _named(verified(data), path, len(data))
        except FileNotFoundError:  # evicted meanwhile
            continue
        except (BadBlock, OSError):
            damaged += 1
            path.unlink(missing_ok=True)
            continue
        name = head.block.id
        blocks += 1
        n_bytes += head.file_bytes
        seen.add(name)
        if name not in known:
            unknown += 1
            index.add([Row(head.block, name, head.file_bytes)])
    gone = [name for name in known - seen if not _is_there(files, index, name)]
    index.remove(gone)
    return Verified(
        blocks=blocks, n_bytes=n_bytes, damaged=damaged, unknown=unknown, missing=len(gone)
    )


def _named(head: Head, path: Path, size: int) -> Head:
    """Refuse a block that lies under another block's name, or in another namespace."""
    if head.file_bytes != size:
        raise BadBlock("cut off")
    folder = path.parent.parent.name
    if head.block.id.hex() != path.stem or head.block.namespace.hex()[:16] != folder:
        raise BadBlock("under another block's name")
    return head


def _is_there(files: Files, index: Index, name: bytes) -> bool:
    """Whether a block that was not seen has a file after all: written since the look began."""
    row = index.get(name)
    return row is not None and files.path(row.block.namespace, name).exists()
