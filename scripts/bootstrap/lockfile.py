"""Reads the lock files: which packages, which versions, which hashes."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path


def blocks(text: str) -> dict[str, str]:
    """Each requirement of a lock file with its hash lines, by `name==version ; marker`."""
    found: dict[str, str] = {}
    for block in re.split(r"\n(?=[A-Za-z0-9])", text):
        head = block.partition(" \\\n")[0].strip()
        if "==" in head:
            found[head] = block.rstrip() + "\n"
    return found


def only(path: Path, name: str) -> str:
    """The lock file's part for one package."""
    return "".join(b for head, b in blocks(path.read_text()).items() if _name(head) == name)


def without(path: Path, name: str) -> str:
    """The lock file's text without one package."""
    return "".join(b for head, b in blocks(path.read_text()).items() if _name(head) != name)


def version(path: Path, name: str) -> str:
    """The version that a lock file pins a package to."""
    for head in blocks(path.read_text()):
        if _name(head) == name:
            return head.partition("==")[2].partition(" ")[0]
    raise LookupError(f"{name} is not in {path.name}")


def fingerprint(*texts: str) -> str:
    """A short digest of some texts, for stamps and folder names."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def _name(head: str) -> str:
    return head.partition("==")[0]
