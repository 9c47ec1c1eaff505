"""Files given to /read: which words are paths, and their text as documents."""

import glob
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from chatcli.core.errors import InputError, UsageError
from chatcli.core.message import Document
from chatcli.core.printable import visible_line
from chatcli.paths import expanded

_MAX_BYTES = 64_000_000
"""More than any context can hold; read no further into a file given by mistake."""


def split(argument: str) -> tuple[list[Path], str]:
    """Return the files that `argument` begins with, and the question behind them.

    Words are taken as in a shell: quotes and backslashes hold names with spaces together,
    `~` is the home folder, `*`, `?` and `[...]` are globs. The first word must be a file;
    the question begins with the first word that is none.

    Raises:
        InputError: the first word names no file.
        UsageError: there is no word.
    """
    found: list[Path] = []
    rest = argument.lstrip()
    while rest:
        word, behind = _first_word(rest)
        files = _files(word)
        if not files:
            break
        found += [path for path in files if path not in found]
        rest = behind
    if not found:
        if not argument.strip():
            raise UsageError("/read wants a file", "/read PATH, and a question if you have one")
        shown = visible_line(_first_word(argument.lstrip())[0])
        raise InputError(f"no such file: {shown}", "Put quotes around a name with spaces")
    return found, rest.strip()


_WORD = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""")
"""A word as in a shell: bare characters, escaped ones, and quoted pieces, joined."""


def _first_word(text: str) -> tuple[str, str]:
    found = _WORD.match(text)
    # An apostrophe in the question is no quote: take the words as they stand.
    raw = found.group() if found else text.split(maxsplit=1)[0]
    behind = text[len(raw) :]
    if not found or (behind and not behind[0].isspace()):
        raw, _, behind = text.partition(" ")
        return raw, behind.lstrip()
    return "".join(shlex.split(raw)), behind.lstrip()


def _files(word: str) -> list[Path]:
    path = expanded(word)
    if os.path.lexists(path):
        return [path]
    if not glob.has_magic(word):
        return []
    # Path.glob takes no absolute pattern before 3.13.
    found = glob.iglob(str(path), recursive=True)  # noqa: PTH207  the line above
    return [file for file in map(Path, sorted(found)) if file.is_file()]


def documents(paths: Sequence[Path]) -> list[Document]:
    """Return the text of each file.

    Raises:
        InputError: one of them is not a readable text file.
    """
    return [Document(str(path), _text(path)) for path in paths]


def _text(path: Path) -> str:
    shown = visible_line(str(path))
    if path.is_dir():
        raise InputError(f"{shown} is a folder", f"Name its files, as {shown}/*")
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{shown} is larger than {_MAX_BYTES:,} bytes", "Cut it first")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {shown}: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{shown} is not UTF-8 text", "Convert it first, for example with `iconv -t utf-8`"
        ) from error
    if "\0" in text:
        raise InputError(f"{shown} is not a text file")
    return text
