"""Set-up shows one moving line in a terminal and sparse lines elsewhere."""

from __future__ import annotations

import io

import pytest

from scripts.bootstrap.console import Console, Progress, clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


def compile_all(progress: Progress, n_steps: int) -> None:
    progress.activity("compiling")
    for done in range(1, n_steps + 1):
        progress.count(done, n_steps)
    progress.finish("compiled")


def test_outside_a_terminal_each_tenth_is_a_line() -> None:
    """193 steps give ten lines of progress, a first and a last one, and no escape code."""
    stream = io.StringIO()
    compile_all(Progress(Console(stream), "llama"), 193)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "llama: compiling"
    assert [line.partition("] ")[2].split()[0] for line in lines[1:-1]] == [
        f"{tenth}%" for tenth in range(10, 101, 10)
    ]
    assert lines[-1] == "llama: compiled (0:00)"
    assert "\x1b" not in stream.getvalue()
    assert "\r" not in stream.getvalue()


def test_in_a_terminal_one_line_is_redrawn() -> None:
    """The moving line is redrawn for each step and replaced by the result: one line stays."""
    stream = Terminal()
    compile_all(Progress(Console(stream), "llama"), 193)
    assert stream.getvalue().count("\n") == 1
    assert "[############............]  50%  97/193" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[Kllama: compiled (0:00)\n")


def test_the_moving_line_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each drawing is cut to the width of the terminal."""
    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    Progress(Console(stream), "llama-cpp-python").activity("downloading the sources (77 MB)")
    drawn = stream.getvalue().split("\r\x1b[K")
    assert max(map(len, drawn)) == 29


def test_the_time_left_is_seen_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar gives way, so that the longest line of a compile still ends in the time left."""
    monkeypatch.setenv("COLUMNS", "80")
    now_s = iter(range(0, 10_000, 50))
    monkeypatch.setattr("time.monotonic", lambda: next(now_s))
    stream = Terminal()
    progress = Progress(Console(stream), "llama-cpp-python (vulkan)")
    progress.activity("compiling")
    for done in range(1, 40):
        progress.count(done, 193)
    assert stream.getvalue().endswith(" left")
    assert max(map(len, stream.getvalue().split("\r\x1b[K"))) <= 79


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """TERM=dumb has no moving line."""
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    compile_all(Progress(Console(stream), "llama"), 10)
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (3725, "62:05")])
def test_clock_shows_minutes_and_seconds(seconds: float, shown: str) -> None:
    """Times are minutes and two digits of seconds."""
    assert clock(seconds) == shown
