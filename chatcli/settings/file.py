"""A settings file, read; and the common ones understood without a YAML parser.

Importing yaml takes longer than everything else that the settings do (12-27 ms), and nearly
every file is a few lines that `chatcli config set` wrote. `simple` reads such lines alone, gives
up (None) at the first thing it does not know for sure, and then `document.parse` decides. Where
it does answer, its answer is `document.parse`'s; a property test holds the two together.
"""

import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from chatcli.core.errors import ConfigError
from chatcli.settings.keys import Key, Value, all_keys, sections
from chatcli.settings.value import from_text

MAX_FILE_BYTES = 256 * 1024
"""No settings file is this large; it bounds time and memory on a wrong path."""


class Entry(NamedTuple):
    """A value and its line, counted from 1."""

    value: Value
    line: int


def read_text(path: Path) -> str | None:
    """Return the text of a settings file; None when there is none.

    Raises:
        ConfigError: it is there but cannot be read as UTF-8 text.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
            raise ConfigError(f"{path} is {kind}", "Settings are read from a text file")
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise ConfigError(
                f"{path} points to {path.readlink()}, which does not exist",
                "Remove the link, or restore the file",
            ) from None
        return None
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror or error}", "Check the file and its rights"
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(
            f"{path} has more than {MAX_FILE_BYTES // 1024} KB",
            "Is it really a settings file? Long texts belong in files of their own",
        )
    return _decoded(data, path)


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}, line {line}: this is not UTF-8 text", "Save the file as UTF-8"
        ) from error


# A key, and a bare word or a quoted text without escapes. A bare word holds no character
# that means something to YAML: no "#", no quote, no bracket, no colon before a space.
_LINE = (
    r"( *)([a-z_]+):(?: +(?:((?!-$|- )[A-Za-z0-9_./+-](?:[A-Za-z0-9_./:@+-]*[A-Za-z0-9_./@+-])?)"
    r"""|"([^"\\]*)"|'([^']*)'))?(?: +#.*)?"""
)


def simple(text: str) -> Mapping[str, Entry] | None:
    """Return the values of a file of plain `key: value` lines; None for any other.

    None also for a wrong key or value: the error is `document.parse`'s to word.
    """
    try:
        return _simple(text)
    except (_NotSimple, ConfigError):
        return None


class _NotSimple(Exception):
    """Something that only a YAML parser can judge."""


def _simple(text: str) -> Mapping[str, Entry]:
    if not text.replace("\n", "").isprintable():
        raise _NotSimple  # tabs, CR, U+2028: YAML has views on each
    entries: dict[str, Entry] = {}
    opened: set[str] = set()
    section = indent = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip(" ") or line.lstrip(" ").startswith("#"):
            continue
        found = re.fullmatch(_LINE, line.rstrip(" "))
        if found is None:
            raise _NotSimple
        margin, word = found[1], found[2]
        if not margin:
            section = indent = ""
        indent = indent or margin
        name = f"{section}.{word}" if margin else word
        if margin != indent or bool(margin) != bool(section) or name in entries or name in opened:
            raise _NotSimple
        if name in sections() and found.lastindex == 2:
            section = name
            opened.add(name)
        else:
            entries[name] = Entry(_value(all_keys().get(name), found), number)
    return entries


def _value(key: Key | None, found: re.Match[str]) -> Value:
    bare = found[3]
    if key is None or key.kind == "biases" or found.lastindex == 2:
        raise _NotSimple
    if bare is not None:
        if bare.lower() == "null" and not key.optional:
            raise _NotSimple
        return from_text(key, bare)
    if key.kind not in ("str", "choice"):
        raise _NotSimple
    # Quoted, "null" is a word like any other.
    return from_text(key._replace(optional=False), found[4] if found[5] is None else found[5])
