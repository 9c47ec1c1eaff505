"""Files of remarks and of measurements under the state folder, each with a size cap.

A file that has grown to its cap is renamed to `NAME.1`, which replaces the one before:
twice the cap is the most that a log can take. Nothing is made until something is written.
A log that cannot be written is silently left out: it must never stop a chat.
"""

import json
import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from chatcli import paths
from chatcli.core.errors import StorageError

MAX_BYTES = 5_000_000
_MAX_LINE_BYTES = 20_000
"""A longer line is cut: one line must not fill a log (llama.cpp can print a whole prompt)."""


def logs_dir() -> Path:
    """Where the logs are."""
    return paths.state_dir() / "logs"


def append_line(path: Path, line: bytes, max_bytes: int) -> None:
    """Append one line, at once and whole, so that several processes may share the file.

    Raises:
        OSError: the file cannot be written.
        StorageError: its folder cannot be made.
    """
    line = line[: min(_MAX_LINE_BYTES, max_bytes - 1)] + b"\n"
    paths.private_dir(path.parent)
    with suppress(FileNotFoundError):
        if path.stat().st_size + len(line) > max_bytes:
            path.replace(path.with_name(path.name + ".1"))
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, line)
    finally:
        os.close(fd)


class CappedHandler(logging.Handler):
    """Writes each record as a line; opens the file for each, so that nothing need be closed."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        super().__init__()
        self.path = path
        self.max_bytes = max_bytes
        form = logging.Formatter("%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s")
        form.converter = time.gmtime
        self.setFormatter(form)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; line feeds in it are spelled, so that no text forges a line."""
        line = self.format(record).replace("\n", "\\n").encode("utf-8", "backslashreplace")
        with suppress(OSError, StorageError):
            append_line(self.path, line, self.max_bytes)


def open_log(name: str, max_bytes: int = MAX_BYTES) -> logging.Logger:
    """Return a logger that writes to `logs/NAME.log`, and nowhere else.

    Asking again for a name gives the same logger, with the path and the cap of now.
    """
    logger = logging.getLogger(f"chatcli.{name}")
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    for handler in logger.handlers[:]:
        logger.removeHandler(handler)
        handler.close()
    logger.addHandler(CappedHandler(logs_dir() / f"{name}.log", max_bytes))
    return logger


def append_metrics(name: str, values: Mapping[str, object], max_bytes: int = MAX_BYTES) -> None:
    """Append `values` and the time (`at`, seconds since the epoch) to `logs/NAME.jsonl`.

    A mapping that is too long for one line is left out: half a line would not be JSON.
    """
    row = json.dumps({"at": round(time.time(), 3), **values}).encode()
    if len(row) < min(_MAX_LINE_BYTES, max_bytes):
        with suppress(OSError, StorageError):
            append_line(logs_dir() / f"{name}.jsonl", row, max_bytes)
