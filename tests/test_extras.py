"""A missing optional package is named with the line that installs it."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from chatcli.core.errors import MissingExtra
from chatcli.extras import EXTRAS, Extra, load, load_from


def test_a_missing_package_gives_the_pip_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the package; the hint is a command line for this very Python."""
    (tmp_path / "made_up_door.py").write_text("import made_up_library.inner\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    table = {"door": Extra("made_up_door", {"made_up_library": "made-up>=1"})}
    with pytest.raises(MissingExtra, match="door needs the package made_up_library") as error:
        load_from(table, "door")
    line = error.value.hint.partition(": ")[2]
    assert shlex.split(line) == [sys.executable, "-m", "pip", "install", "made-up>=1"]


def test_another_missing_module_is_a_bug_and_raised_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that the table does not list is not called an extra."""
    (tmp_path / "made_up_bug.py").write_text("import made_up_typo\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="made_up_typo"):
        load_from({"bug": Extra("made_up_bug", {"other": "other"})}, "bug")


def test_an_installed_extra_is_imported() -> None:
    """What is there is returned as a module."""
    table = {"paths": Extra("chatcli.paths", {})}
    assert load_from(table, "paths").__name__ == "chatcli.paths"


def test_every_extra_of_the_table_names_a_module_of_ours() -> None:
    """The real table points into the package; a name outside it is a KeyError."""
    assert all(extra.module.startswith("chatcli.") for extra in EXTRAS.values())
    with pytest.raises(KeyError):
        load("no such extra")


def test_importing_extras_imports_no_extra() -> None:
    """The table holds names only."""
    code = "import chatcli.extras, sys; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
