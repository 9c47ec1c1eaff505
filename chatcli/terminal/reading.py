"""Files given to /read: which words are paths, and their text as documents.

A file or a pipe given by mistake is refused before it fills the memory.
"""

import codecs
import glob
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from chatcli.core.errors import InputError, UsageError
from chatcli.core.message import Document
from chatcli.core.printable import visible_line
from chatcli.paths import expanded

MAX_BYTES = 64_000_000
"""More than any context can hold; no file and no pipe is read further."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


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
        with path.open("rb") as stream:
            data = read_all(stream, shown)
    except OSError as error:
        raise InputError(f"cannot read {shown}: {error.strerror or error}") from error
    return decode(data, shown)


def read_all(stream: BinaryIO, name: str) -> bytes:
    """Return all of a file or a pipe, which may have no end (`yes`, /dev/zero).

    Raises:
        InputError: it is longer than `MAX_BYTES`.
    """
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(
            f"{name} is larger than {MAX_BYTES:,} bytes, more than any context can hold",
            "Cut it first, as with: head -c 100000",
        )
    return data


def decode(data: bytes, name: str) -> str:
    """Return `data` as text: UTF-8, or UTF-16 where it begins with a byte order mark.

    Raises:
        InputError: it is binary, or has a byte that is not UTF-8; says where.
    """
    mark, encoding = next((bom for bom in _BOMS if data.startswith(bom[0])), (b"", "utf-8"))
    if encoding == "utf-8" and b"\0" in data:
        raise _binary(name)
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        at = error.start + len(mark)
        raise InputError(
            f"{name} is not {encoding.upper()} text: byte 0x{data[at]:02x} at offset {at:,}",
            "Convert it first, as with: iconv -f LATIN1 -t UTF-8",
        ) from error
    if "\0" in text:  # UTF-32, or no text at all
        raise _binary(name)
    return text


def _binary(name: str) -> InputError:
    return InputError(f"{name} is binary, not text", "Convert it to text first")
