"""What is piped in or attached: read as text, or refused with a reason."""

import codecs
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from chatcli.core.errors import InputError, UsageError
from chatcli.core.message import Document, Message, user

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(data: bytes, name: str) -> str:
    """Return `data` as text: UTF-8, or UTF-16 where it begins with a byte order mark.

    Raises:
        InputError: it is binary, or has a byte that is not UTF-8; says where.
    """
    mark, encoding = next((bom for bom in _BOMS if data.startswith(bom[0])), (b"", "utf-8"))
    data = data[len(mark) :]
    if encoding == "utf-8" and b"\0" in data[:65536]:
        raise InputError(f"{name} is binary, not text", "Convert it to text first")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not {encoding.upper()} text: byte {data[error.start]:#04x} at"
            f" offset {error.start:,}",
            "Convert it first, as with: iconv -f LATIN1 -t UTF-8",
        ) from error


def read_file(path: str) -> Document:
    """Return the text of a file.

    Raises:
        InputError: it is missing, a folder, unreadable, or no text.
    """
    file = Path(path).expanduser()
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    return Document(file.name, decode(data, path))


def read_stdin(stream: BinaryIO | None = None) -> str | None:
    """Return all of stdin as text, to its end; None if it is a terminal, closed or empty."""
    if stream is None:
        if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
            return None
        stream = sys.stdin.buffer
    try:
        data = stream.read()
    except OSError as error:
        raise InputError(f"cannot read stdin: {error.strerror or error}") from error
    text = decode(data, "stdin")
    return text if text.strip() else None


def question(words: Sequence[str], attached: Sequence[str]) -> Message:
    """Make the message: stdin, then the attachments, then the words.

    Documents come first, so that the same document with another question is a shared
    prefix. `-` among the attachments says where stdin goes among them.

    Raises:
        UsageError: there is nothing to ask.
        InputError: something cannot be read.
    """
    prompt = " ".join(words)
    piped = read_stdin()
    documents = []
    if piped is not None and "-" not in attached:
        documents.append(Document("stdin", piped))
    for name in attached:
        if name != "-":
            documents.append(read_file(name))
        elif piped is not None:
            documents.append(Document("stdin", piped))
    if prompt == "-" and documents:
        prompt = ""
    if not prompt.strip() and not documents:
        raise UsageError("there is nothing to ask", 'Type chatcli "your question", or pipe a text')
    return user(prompt, *documents)
