"""The self-test runs once for a library, a machine and a kind of weights, and may die."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from chatcli.engine import probe
from chatcli.engine.probe import Memory, Outcome, check, run_children
from tests.tiny_gguf import write_tiny


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny model, and a cache folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_tiny(tmp_path / "tiny.gguf")


def _interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """Put a script in the place of Python; it is given `-m module model repack`."""
    calls = tmp_path / "calls"
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\necho "$4" >> {calls}\n{script}\n')
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    return calls


def test_a_good_library_passes_in_a_real_child(model: Path) -> None:
    """The child evaluates, exits, and the outcome is remembered in a private file."""
    assert check(model) == Outcome("ok")
    file = Path(os.environ["XDG_CACHE_HOME"]) / "chatcli" / "self-test.json"
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert file.exists()


def test_it_is_asked_once(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second check starts no child; a second file of the same kind does not either."""
    calls = _interpreter(tmp_path, monkeypatch, "exit 0")
    check(model)
    check(model)
    other = write_tiny(tmp_path / "other.gguf", seed=1)
    check(other)
    assert calls.read_text() == "1\n"
    check(model, again=True)
    assert calls.read_text() == "1\n1\n"


def test_a_child_that_dies_means_the_fallback(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGILL with repacked weights, success without: the fallback, with the signal's name."""
    _interpreter(tmp_path, monkeypatch, '[ "$4" = 1 ] && kill -ILL $$; exit 0')
    assert check(model) == Outcome("fallback", "SIGILL")
    assert check(model, Memory()) == Outcome("fallback", "SIGILL")


def test_a_library_that_always_dies_is_dead(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways end by a signal."""
    _interpreter(tmp_path, monkeypatch, "kill -ILL $$")
    assert check(model) == Outcome("dead", "SIGILL")


def test_a_model_that_cannot_be_loaded_says_nothing_about_the_library(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is remembered; loading will say what is wrong."""
    calls = _interpreter(tmp_path, monkeypatch, "exit 2")
    assert check(model) == Outcome("ok")
    assert run_children(model) is None
    assert check(model) == Outcome("ok")
    assert calls.read_text() == "1\n1\n1\n"


def test_a_damaged_memory_is_asked_again(model: Path) -> None:
    """Rubbish in the cache is no reason to fail."""
    file = Path(os.environ["XDG_CACHE_HOME"]) / "chatcli" / "self-test.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"x": ' + "[" * 100_000)
    assert check(model) == Outcome("ok")
    assert probe.Memory().kind_of(probe.library_and_machine(), "nothing") is None


def test_the_child_ends_with_its_parent(model: Path) -> None:
    """Its stdin breaks when the parent is killed: nothing is left behind."""
    child = subprocess.Popen(
        [sys.executable, "-c", "from chatcli.engine.probe import _end_with_parent as end; end()"],
        stdin=subprocess.PIPE,
    )
    assert child.poll() is None
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(60) == 2
