"""How a download is shown on stderr: a bar in a terminal, else a line for each tenth."""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from chatcli.catalogue.progress import Stage, readable_bytes

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_WORDS: dict[Stage, str] = {"download": "downloading", "check": "checking"}


class DownloadDisplay:
    """A context manager; call it as a `chatcli.catalogue.progress.Progress`.

    Nothing is drawn, and rich is not loaded, before the first call.
    """

    def __init__(self, *, bar: bool | None = None) -> None:
        wanted = sys.stderr.isatty() if bar is None else bar
        self._show: _BarDisplay | _LineDisplay = (
            _BarDisplay() if wanted else _LineDisplay(_to_stderr)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._show.close()

    def __call__(self, done_bytes: int, total_bytes: int, stage: Stage) -> None:
        """Show where the download is."""
        self._show.update(done_bytes, total_bytes, stage)

    def say(self, line: str) -> None:
        """Show one line above the bar."""
        self._show.close()
        _to_stderr(line)


def _to_stderr(line: str) -> None:
    from chatcli.core.printable import visible_line

    sys.stderr.write(f"{visible_line(line)}\n")
    sys.stderr.flush()


class _BarDisplay:
    """A bar with size, rate and time left."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._stage: Stage | None = None

    def update(self, done_bytes: int, total_bytes: int, stage: Stage) -> None:
        if self._bar is None:
            self._bar = _new_bar()
            self._bar.start()
        if self._task is None or stage != self._stage:
            # A new task for each stage: the rate of reading is not that of the network.
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(
                _WORDS[stage], completed=done_bytes, total=total_bytes or None
            )
            self._stage = stage
        self._bar.update(self._task, completed=done_bytes, total=total_bytes or None)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = self._stage = None


def _new_bar() -> "Bar":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


class _LineDisplay:
    """One line for each tenth; of an unknown size, one for each 100 MB."""

    _STEP_BYTES = 10**8

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._shown: tuple[Stage, int] | None = None

    def update(self, done_bytes: int, total_bytes: int, stage: Stage) -> None:
        step = done_bytes * 10 // total_bytes if total_bytes else done_bytes // self._STEP_BYTES
        before = self._shown[1] if self._shown and self._shown[0] == stage else 0
        if step <= before:
            return
        self._shown = (stage, step)
        of = f" of {readable_bytes(total_bytes)} ({min(step, 10) * 10} %)" if total_bytes else ""
        self._say(f"{_WORDS[stage]}: {readable_bytes(done_bytes)}{of}")

    def close(self) -> None:
        self._shown = None
