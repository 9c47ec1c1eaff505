"""Errors of the set-up are one line and an exit code."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.bootstrap import run

ROOT = Path(__file__).resolve().parents[3]


def test_an_unknown_variant_names_the_known_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GPU=quantum is refused before anything is made."""
    assert run.main(str(tmp_path), argparse.Namespace(gpu="quantum", dev=False)) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error == ("set-up: GPU=quantum is not known; use one of cpu, cuda, vulkan, metal, hip\n")
    assert list(tmp_path.iterdir()) == []


def test_a_python_without_ensurepip_names_the_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Debian the missing part is python3.N-venv, and the line says so."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert run.main(str(tmp_path), argparse.Namespace(gpu="", dev=False)) == 1
    error = capsys.readouterr().err
    assert f"apt install python3.{sys.version_info.minor}-venv" in error
    assert error.count("\n") == 1


def test_a_folder_that_is_no_clone_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing lock file is named, without a traceback."""
    assert run.main(str(tmp_path), argparse.Namespace(gpu="cpu", dev=False)) == 1
    error = capsys.readouterr().err
    assert error == f"set-up: No such file or directory: {tmp_path / 'requirements.lock'}\n"


def test_setup_prints_its_help_on_request() -> None:
    """`setup.py --help` runs under the bare interpreter, without any package."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", ROOT / "scripts" / "setup.py", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--dev" in done.stdout
