"""The namespace of a model and its settings: all that changes the numbers in memory cells.

Blocks of one namespace can be put into any context of it. Threads, batch size and context
size are not part: they change no cell beyond float noise.
"""

import hashlib
import os
from pathlib import Path

from chatcli.engine.binding import library_files
from chatcli.engine.kv.block import FORMAT
from chatcli.engine.remember import recall, remember
from chatcli.paths import cache_dir

_PIECE_BYTES = 1 << 20


def namespace(
    weights: str, *, kv_type: str, flash_attention: str, on_gpu: bool, is_long: bool
) -> bytes:
    """Return the namespace of a model, whose content is `weights`, run with these settings.

    `is_long`: the context is fixed beyond the length that LongRoPE's short factors are for.
    """
    facts = (
        f"format {FORMAT}",
        f"weights {weights}",
        f"library {library_digest()}",
        f"kv {kv_type}",
        f"flash attention {flash_attention}",
        f"gpu {on_gpu}",
        f"long factors {is_long}",
        # Read by llama.cpp itself: whether quantised cells are rotated.
        f"no rotation {os.environ.get('LLAMA_ATTN_ROT_DISABLE', '')}",
        "sliding windows cut",  # swa_full is never set
    )
    return hashlib.sha256("\n".join(facts).encode()).digest()


def library_digest() -> str:
    """Return the identity of llama.cpp's library files, remembered by their size and time."""
    files = library_files()
    key = " ".join(f"{path.name} {_stamp(path)}" for path in files)
    store = cache_dir() / "library.json"
    known = recall(store)
    if known.get("key") == key and isinstance(found := known.get("digest"), str):
        return found
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"\n{path.name}\n".encode())
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
    remember(store, {"key": key, "digest": digest.hexdigest()})
    return digest.hexdigest()


def _stamp(path: Path) -> str:
    stat = path.stat()
    return f"{stat.st_dev} {stat.st_ino} {stat.st_size} {stat.st_mtime_ns}"
