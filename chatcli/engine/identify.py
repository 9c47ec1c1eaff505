"""Which model is this? The identity of the weights, remembered by the file's size and time."""

import hashlib
from pathlib import Path

from chatcli.core.errors import LoadError
from chatcli.core.session import Fingerprint
from chatcli.engine.remember import recall, remember
from chatcli.gguf import identity
from chatcli.paths import cache_dir


def fingerprint(path: Path, template: str) -> Fingerprint:
    """Return the identity of a model's weights and tokenizer together with its template."""
    text = f"{weights(path)}\n{template}"
    return Fingerprint(hashlib.sha256(text.encode()).hexdigest()[:32])


def weights(path: Path) -> str:
    """Return the identity of the file's content (`chatcli.gguf.identity`).

    Computing it reads samples of every tensor; it is remembered by device, inode, size and
    time of change.

    Raises:
        LoadError: the file cannot be read.
        CorruptModel: its header is damaged, or it is cut off.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise LoadError(f"cannot read {path}: {error.strerror}") from error
    key = f"{stat.st_dev} {stat.st_ino} {stat.st_size} {stat.st_mtime_ns}"
    file = cache_dir() / "identities.json"
    known = recall(file)
    if isinstance(found := known.get(key), str):
        return found
    found = identity(path)
    remember(file, {**known, key: found})
    return found
