"""A program in a pseudo-terminal, and what its screen shows."""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pexpect
import pyte

PATIENCE_S = 30.0
"""How long to wait for something to appear, on a machine that is busy."""


class _Screen(pyte.Screen):
    """A screen that answers what a program asks its terminal: where the cursor is."""

    def __init__(self, columns: int, lines: int, send: Callable[[str], None]) -> None:
        super().__init__(columns, lines)
        self._send = send

    def write_process_input(self, data: str) -> None:
        """Send the answer."""
        self._send(data)


class Terminal:
    """A child process on a screen of `columns` x `lines`."""

    def __init__(
        self,
        argv: Sequence[str],
        environ: Mapping[str, str],
        cwd: Path,
        *,
        columns: int = 80,
        lines: int = 24,
    ) -> None:
        self.screen = _Screen(columns, lines, self.send)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.child: pexpect.spawn[bytes] = pexpect.spawn(
            argv[0],
            list(argv[1:]),
            env={**environ},
            cwd=str(cwd),
            dimensions=(lines, columns),
            timeout=PATIENCE_S,
        )
        self.child.delaybeforesend = None

    def read(self) -> None:
        """Draw what the program has written since."""
        try:
            while not self.child.closed:
                data = self.child.read_nonblocking(65536, timeout=0.05)
                self.raw += data
                self._stream.feed(data)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return

    @property
    def lines(self) -> list[str]:
        """The lines on the screen, without spaces at their ends."""
        self.read()
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        """The screen as one text, without its blank lines at the end."""
        return "\n".join(self.lines).rstrip()

    @property
    def cursor(self) -> tuple[int, int]:
        """Line and column of the cursor, from 0."""
        self.read()
        return self.screen.cursor.y, self.screen.cursor.x

    def wait(self, what: str | Callable[[], bool], *, gone: bool = False) -> None:
        """Wait until a text is on the screen (or `gone` from it), or a condition holds."""
        until = time.monotonic() + PATIENCE_S
        while True:
            found = what in self.text if isinstance(what, str) else what()
            if found is not gone:
                return
            assert time.monotonic() < until, f"waited for {what!r}, the screen is\n{self.text}"

    def send(self, keys: str) -> None:
        """Type."""
        self.child.send(keys)

    def line_of(self, text: str) -> int:
        """Return the number of the last line that begins with `text`; -1 if none does."""
        found = [i for i, line in enumerate(self.lines) if line.startswith(text)]
        return found[-1] if found else -1

    def at_prompt(self) -> bool:
        """Whether the cursor stands behind an empty prompt."""
        lines = self.lines
        y, x = self.cursor
        return lines[y] == ">" and x == 2

    def resize(self, columns: int, lines: int) -> None:
        """Make the window another size, as a user does with the mouse."""
        self.screen.resize(lines, columns)
        self.child.setwinsize(lines, columns)

    def kill(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        os.kill(self.pid, number)

    @property
    def pid(self) -> int:
        """The process."""
        assert self.child.pid is not None
        return self.child.pid

    def end(self) -> int:
        """Wait for the end; return the exit code (128 + number for an uncaught signal)."""
        until = time.monotonic() + PATIENCE_S
        while self.child.isalive():
            self.read()
            assert time.monotonic() < until, f"it does not end; the screen is\n{self.text}"
        self.read()
        self.child.close()
        if self.child.signalstatus is not None:
            return 128 + int(self.child.signalstatus)
        return int(self.child.exitstatus or 0)
