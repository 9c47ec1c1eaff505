"""A home of its own, a stdin with given bytes, and a program whose model is scripted."""

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from chatcli.app import App
from chatcli.cli.main import run
from chatcli.settings import Settings
from chatcli.testing import MemoryStore, ScriptedEngine

Piece = str | tuple[Literal["text", "reasoning"], str]


def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the program live in `tmp_path` alone; return it."""
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CHATCLI_DEBUG", "CHATCLI_MODEL", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pipe_in(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Make `data` what stdin holds."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


class Program:
    """Runs command lines against one scripted engine and one store in memory."""

    def __init__(self, replies: Sequence[Sequence[Piece]] = (), *, context: int = 4096) -> None:
        self.engine = ScriptedEngine(replies, context=context)
        self.store = MemoryStore()
        self.kept: list[bool] = []

    def run(self, *argv: str) -> int:
        """Return the exit code of `chatcli ARGV`."""
        return run(argv, self._app)

    def _app(self, settings: Settings) -> App:
        self.kept.append(settings.sessions.log)
        store = self.store if settings.sessions.log else None
        return App(settings, engines=self.engine, store=store)
