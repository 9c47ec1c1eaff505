"""A tiny real model, and settings that do not touch the user's own files."""

from pathlib import Path

import pytest

from tests.tiny_gguf import write_tiny


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a two-layer model with random weights."""
    return write_tiny(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in ("CHATCLI_MODEL", "CHATCLI_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
