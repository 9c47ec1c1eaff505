"""What is piped in or attached: read as text, or refused with a reason.

stdin is read to its end, as llm and ollama do: a pipe that nobody writes to and nobody
closes is waited for. A terminal is never read.
"""

import codecs
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from chatcli.core.errors import InputError, UsageError
from chatcli.core.message import Document, Message, user
from chatcli.core.printable import visible_line

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

STDIN = "-"


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


def read_file(path: str) -> Document:
    """Return the text of a file.

    Raises:
        InputError: it is missing, a folder, unreadable, or no text.
    """
    shown = visible_line(path)
    try:
        file = Path(path).expanduser()
        data = file.read_bytes()
    except IsADirectoryError as error:
        raise InputError(f"{shown} is a folder", f"Name its files: {shown}/...") from error
    except (OSError, ValueError, RuntimeError) as error:  # a NUL in the name, ~nobody
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {shown}: {why}", "Check the name and its rights") from error
    return Document(file.name, decode(data, shown))


def read_stdin(stream: BinaryIO | None = None) -> str | None:
    """Return all of stdin as text, to its end; None if it is a terminal, closed or empty.

    Raises:
        InputError: it cannot be read, or is no text.
    """
    if stream is None:
        if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
            return None
        stream = sys.stdin.buffer
    try:
        data = stream.read()
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"cannot read stdin: {why}", "Pipe a text, or use < /dev/null") from error
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
    # Files first: a wrong name is told before a slow pipe has ended.
    files = {name: read_file(name) for name in attached if name != STDIN}
    piped = read_stdin()
    if piped is None and STDIN in attached:
        raise InputError("-a - means stdin, and nothing is piped in", "Pipe a text: cmd | chatcli")
    order = list(attached) if piped is None or STDIN in attached else [STDIN, *attached]
    stdin = Document("stdin", piped or "")
    documents = [stdin if name == STDIN else files[name] for name in dict.fromkeys(order)]
    if prompt == STDIN and piped is not None:
        prompt = ""
    if not prompt.strip() and not documents:
        raise UsageError("there is nothing to ask", 'Type chatcli "your question", or pipe a text')
    return user(prompt, *documents)
