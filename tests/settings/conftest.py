"""Every settings test has its own home; nothing of the real one is read or written."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home folder, in force for the test."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    return folder


@pytest.fixture
def user_file(home: Path) -> Path:
    """Return the place of the user's settings file; its folder exists."""
    folder = home / ".config" / "chatcli"
    folder.mkdir(parents=True)
    return folder / "config.yaml"
