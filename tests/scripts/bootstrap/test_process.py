"""Child processes are logged, followed line by line, and explained when they fail."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from scripts.bootstrap.failure import SetupError
from scripts.bootstrap.process import clean_environment, run_logged


def run(code: str, folder: Path) -> tuple[list[str], int]:
    script = folder / "child.py"
    script.write_text(code)
    lines: list[str] = []
    ticks: list[None] = []
    run_logged(
        [sys.executable, script],
        log=folder / "logs" / "step.log",
        failed="step failed",
        environment=clean_environment(),
        folder=folder,
        on_line=lines.append,
        on_tick=lambda: ticks.append(None),
    )
    return lines, len(ticks)


def test_lines_arrive_and_everything_is_logged(tmp_path: Path) -> None:
    """Both streams reach the listener and the log, which begins with the command."""
    log = tmp_path / "logs" / "step.log"
    lines, _ = run("import sys; print('out'); print('  [1/2] err', file=sys.stderr)", tmp_path)
    assert lines == ["out", "[1/2] err"]
    assert log.read_text().splitlines()[0].startswith(f"$ {sys.executable} ")
    assert log.read_text().endswith("out\n  [1/2] err\n")


def test_a_silent_child_still_ticks(tmp_path: Path) -> None:
    """A child that prints nothing does not look hung: the clock goes on."""
    _, n_ticks = run("import time; time.sleep(0.8)", tmp_path)
    assert n_ticks >= 2


def test_the_child_cannot_read_the_terminal(tmp_path: Path) -> None:
    """Standard input is empty, so the user's typing stays for the chat."""
    lines, _ = run("import sys; print(repr(sys.stdin.read()))", tmp_path)
    assert lines == ["''"]


def test_a_failure_names_the_log_and_shows_the_first_complaint(tmp_path: Path) -> None:
    """The error holds the compiler's complaint, the last lines and the place of the log."""
    code = (
        "print('[7/9] x.cpp'); print('x.cpp:1: error: no such thing')\n"
        "for i in range(100): print('noise', i)\n"
        "print('the end'); raise SystemExit(3)"
    )
    log = tmp_path / "logs" / "step.log"
    with pytest.raises(SetupError) as caught:
        run(code, tmp_path)
    text = str(caught.value)
    assert text.startswith("step failed:\n    x.cpp:1: error: no such thing\n")
    assert "    the end\n" in text
    assert "noise 50" not in text
    assert f"the whole output is in {log}; run the same command again" in text


@pytest.mark.parametrize(
    ("output", "remedy"),
    [
        ("OSError: [Errno 28] No space left on device", "free some space"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM", "check the package index"),
        ("Failed to establish: NewConnectionError", "check the network"),
        ("g++: fatal error: Killed signal terminated program", "CMAKE_BUILD_PARALLEL_LEVEL=1"),
    ],
)
def test_known_causes_have_their_remedy(tmp_path: Path, output: str, remedy: str) -> None:
    """A full disk, a wrong hash, no network and no memory are told apart."""
    with pytest.raises(SetupError, match=remedy):
        run(f"print({output!r}); raise SystemExit(1)", tmp_path)


def test_settings_that_would_lead_pip_astray_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """PYTHONPATH and pip's target settings are not passed on; the user's index is."""
    monkeypatch.setenv("PYTHONPATH", os.sep)
    monkeypatch.setenv("PIP_TARGET", os.sep)
    monkeypatch.setenv("PIP_INDEX_URL", "file:///mine")
    environment = clean_environment({"EXTRA": "1"})
    assert "PYTHONPATH" not in environment
    assert "PIP_TARGET" not in environment
    assert environment["PIP_INDEX_URL"] == "file:///mine"
    assert environment["PIP_USER"] == "0"
    assert environment["EXTRA"] == "1"
