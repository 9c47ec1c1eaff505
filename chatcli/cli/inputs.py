"""What is piped in or attached: read as text, or refused with a reason.

stdin is read to its end, as llm and ollama do: a pipe that nobody writes to and nobody
closes is waited for. A terminal is never read.
"""

import sys
from collections.abc import Sequence
from typing import BinaryIO

from chatcli.core.errors import InputError, UsageError
from chatcli.core.message import Document, Message, user
from chatcli.core.printable import visible_line
from chatcli.paths import expanded
from chatcli.terminal.reading import decode, read_all

STDIN = "-"


def read_file(path: str) -> Document:
    """Return the text of a file.

    Raises:
        InputError: it is missing, a folder, unreadable, endless, or no text.
    """
    shown = visible_line(path)
    try:
        file = expanded(path)
        with file.open("rb") as stream:
            data = read_all(stream, shown)
    except IsADirectoryError as error:
        raise InputError(f"{shown} is a folder", f"Name its files: {shown}/...") from error
    except (OSError, ValueError) as error:  # a NUL in the name
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
        data = read_all(stream, "stdin")
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
