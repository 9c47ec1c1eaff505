"""What was typed at the prompt, kept from run to run in a file that only the user can read.

The format is prompt_toolkit's own: a comment line with the time, then the text with a `+`
before each line. Lines that begin with a space are kept nowhere.
"""

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from prompt_toolkit.history import History

from chatcli.core.errors import StorageError
from chatcli.paths import private_dir

MAX_BYTES = 1_000_000
"""A file larger than this loses its older half when it is next read."""


class LineHistory(History):
    """History in `path`; in memory alone when that is None or cannot be used.

    `wanted` says, at each line, whether it may be written.
    """

    def __init__(
        self,
        path: Path | None,
        max_bytes: int = MAX_BYTES,
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__()
        self._wanted = wanted
        self.path = path
        self._max_bytes = max_bytes

    def append_string(self, string: str) -> None:
        """Keep a line, unless it begins with a space or only repeats the last one."""
        last = self._loaded_strings[0] if self._loaded_strings else None
        if string and not string.startswith(" ") and string != last:
            super().append_string(string)

    def load_history_strings(self) -> Iterable[str]:
        """Return the lines, newest first."""
        if self.path is None or not self._wanted():
            return []
        try:
            data = self.path.read_bytes()
            if len(data) > self._max_bytes:
                data = _newer_half(data, self._max_bytes)
                _replace(self.path, data)
        except OSError:
            # None yet, or not readable: the prompt works without.
            return []
        return reversed(_entries(data.decode("utf-8", "replace")))

    def store_string(self, string: str) -> None:
        """Append one line to the file."""
        if self.path is None or not self._wanted():
            return
        lines = "".join(f"+{line}\n" for line in string.split("\n"))
        entry = f"\n# {datetime.now().astimezone():%Y-%m-%d %H:%M:%S}\n{lines}"
        try:
            private_dir(self.path.parent)
            _append(self.path, entry.encode("utf-8", "replace"))
        except (OSError, StorageError):
            # A full disk or a read-only home must not end the chat over its history.
            self.path = None


def _append(path: Path, data: bytes) -> None:
    # One write on O_APPEND: two prompts at once do not mix their lines.
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.fchmod(fd, 0o600)
        os.write(fd, data)
    finally:
        os.close(fd)


def _newer_half(data: bytes, max_bytes: int) -> bytes:
    start = data.find(b"\n# ", len(data) - max_bytes // 2)
    return data[start:] if start >= 0 else b""


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)
    partial.replace(path)


def _entries(text: str) -> list[str]:
    entries: list[str] = []
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        if line.startswith("+"):
            lines.append(line[1:])
        elif lines:
            entries.append("\n".join(lines))
            lines = []
    return entries
