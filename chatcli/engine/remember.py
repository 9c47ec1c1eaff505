"""Small JSON files in the cache folder: facts that were costly to find out."""

import json
import os
from contextlib import suppress
from pathlib import Path

from chatcli.core.errors import ChatcliError
from chatcli.paths import private_dir


def recall(file: Path) -> dict[str, object]:
    """Return what was remembered; nothing if the file is missing or damaged."""
    with suppress(OSError, ValueError, RecursionError):
        loaded = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(loaded, dict):
            return loaded
    return {}


def remember(file: Path, facts: dict[str, object]) -> None:
    """Replace the file in one step. A folder that cannot be written means asking again."""
    with suppress(OSError, ChatcliError):
        private_dir(file.parent)
        temporary = file.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(facts), encoding="utf-8")
        temporary.replace(file)
