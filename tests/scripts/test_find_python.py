"""The Makefile finds a Python that can do the set-up, or says what to install."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "find_python.sh"
TOO_OLD = 'case "$*" in *--version*) echo "Python 3.9.2";; *) exit 2;; esac'
BROKEN = "exit 127"
WHOLE = f'exec {sys.executable} "$@"'
NO_VENV = 'case "$*" in *ensurepip*) exit 1;; esac'


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with the script alone, and a `bin` folder that is the whole PATH."""
    for name in ("scripts", ".build", "bin"):
        (tmp_path / name).mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    for tool in ("dirname", "cat", "sh"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    return tmp_path


def python(clone: Path, name: str, script: str) -> None:
    path = clone / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def find(clone: Path, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [clone / "bin" / "sh", clone / "scripts" / "find_python.sh"],
        env={"PATH": str(clone / "bin"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_the_first_whole_python_is_taken(clone: Path) -> None:
    """Old, broken and incomplete Pythons are passed over."""
    python(clone, "python3.13", BROKEN)
    python(clone, "python3.12", NO_VENV)
    python(clone, "python3.11", WHOLE)
    python(clone, "python3", TOO_OLD)
    assert find(clone) == (0, "python3.11", "")


def test_an_incomplete_python_is_better_than_none(clone: Path) -> None:
    """setup.py itself explains what is missing in a Python without ensurepip."""
    python(clone, "python3.12", NO_VENV)
    python(clone, "python3", TOO_OLD)
    assert find(clone) == (0, "python3.12", "")


def test_no_python_new_enough_is_one_line(clone: Path) -> None:
    """The error names the version that was found and what to do."""
    python(clone, "python3", TOO_OLD)
    code, out, error = find(clone)
    assert (code, out) == (1, "")
    assert error.startswith("set-up: Python 3.11 or newer is needed, found Python 3.9.2; install")
    assert "\n" not in error


def test_no_python_at_all_is_one_line(clone: Path) -> None:
    """Without any python3 the error says so."""
    code, out, error = find(clone)
    assert (code, out) == (1, "")
    assert "found no python3; install one" in error
    assert "\n" not in error


def test_python_in_the_environment_decides_alone(clone: Path) -> None:
    """PYTHON= is taken as it is, or refused; no other is tried in its place."""
    python(clone, "mine", WHOLE)
    python(clone, "python3.13", WHOLE)
    assert find(clone, PYTHON="mine") == (0, "mine", "")
    python(clone, "old", TOO_OLD)
    code, out, error = find(clone, PYTHON="old")
    assert (code, out) == (1, "")
    assert error == "set-up: PYTHON=old is not a Python >= 3.11 that runs; name another one"


def test_the_last_python_is_tried_first(clone: Path) -> None:
    """The one that made the environment is taken again, unless it is gone."""
    python(clone, "last", WHOLE)
    python(clone, "python3.13", WHOLE)
    (clone / ".build" / "python").write_text(str(clone / "bin" / "last"))
    assert find(clone)[1] == str(clone / "bin" / "last")
    (clone / "bin" / "last").unlink()
    assert find(clone)[1] == "python3.13"
