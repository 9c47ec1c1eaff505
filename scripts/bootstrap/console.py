"""What the set-up shows: on stderr only, one line that moves in a terminal, sparse lines elsewhere.

It knows how to draw; it does not know what is being done.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TextIO

MIN_BAR_CELLS, MAX_BAR_CELLS = 4, 24
COLUMNS_OF_A_LOG = 100


class Console:
    """The set-up's messages on one stream; a terminal gets a line that is redrawn in place."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn = False

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.clear()
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def draw(self, text: str) -> None:
        """Show `text` on the moving line; nothing outside a terminal."""
        if not self._live:
            return
        self._stream.write(f"\r\x1b[K{text[: self.columns - 1]}")
        self._stream.flush()
        self._drawn = True

    def clear(self) -> None:
        """Take the moving line away."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False

    @property
    def columns(self) -> int:
        """How wide a line may be."""
        return shutil.get_terminal_size().columns if self._live else COLUMNS_OF_A_LOG

    @property
    def live(self) -> bool:
        """Whether a moving line can be shown."""
        return self._live


class Progress:
    """One long step: what it does now, how far it is, how long it took and may still take.

    In a terminal the line moves with every `tick`; elsewhere a line is printed for each new
    activity and for every tenth of the counted part.
    """

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._activity = ""
        self._count: tuple[int, int] | None = None
        self._tenth = 0
        self._started_s = time.monotonic()
        self._counted_since_s = 0.0
        console.draw(title)

    def activity(self, text: str) -> None:
        """Say what is done now."""
        if text == self._activity:
            return
        self._activity = text
        self._count = None
        if not self._console.live:
            self._console.say(f"{self._title}: {text}")
        self.tick()

    def note(self, text: str) -> None:
        """Say a detail that only a moving line has room for."""
        self._activity = text
        self.tick()

    def count(self, done: int, total: int) -> None:
        """Say how many of the parts of the present activity are done."""
        if self._count is None:
            self._counted_since_s = time.monotonic()
            self._tenth = 0
        self._count = (done, total)
        tenth = done * 10 // max(total, 1)
        if not self._console.live and tenth > self._tenth:
            self._tenth = tenth
            self._console.say(self._line())
        self.tick()

    def tick(self) -> None:
        """Redraw the moving line with the time that has passed."""
        self._console.draw(self._line())

    def finish(self, result: str) -> None:
        """Replace the moving line by the result and the time it took."""
        self._console.say(f"{self._title}: {result} ({clock(self._elapsed_s)})")

    @property
    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def _line(self) -> str:
        head = f"{self._title}: {self._activity}" if self._activity else self._title
        if self._count is None:
            return f"{head}  {clock(self._elapsed_s)}"
        done, total = self._count
        share = done / max(total, 1)
        passed_s = time.monotonic() - self._counted_since_s
        left = f", ~{clock(passed_s / done * (total - done))} left" if done > 1 else ""
        tail = f"{share:4.0%}  {done}/{total}  {clock(self._elapsed_s)}{left}"
        room = self._console.columns - len(f"{head} [] {tail}") - 1
        n_cells = max(MIN_BAR_CELLS, min(MAX_BAR_CELLS, room))
        bar = "#" * int(share * n_cells)
        return f"{head} [{bar:.<{n_cells}}] {tail}"


def clock(seconds: float) -> str:
    """Minutes and seconds as 4:07."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02}"
