"""The app makes what a command needs, when it is needed, and closes it."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from chatcli import paths
from chatcli.app import App, EngineLog, Engines, ModelFile
from chatcli.core.cancel import Cancel
from chatcli.core.errors import CorruptModel, DownloadError
from chatcli.core.event import Finished
from chatcli.core.message import user
from chatcli.core.ports import Engine
from chatcli.log import logs_dir
from chatcli.sessions.sqlite import SqliteStore
from chatcli.settings import Settings
from chatcli.testing import MemoryStore
from tests.tiny_gguf import write_tiny


@dataclass(frozen=True)
class _File:
    name: str
    path: Path


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """An app whose every model is the tiny one."""
    path = write_tiny(tmp_path / "tiny.gguf")
    made = App(Settings(), fetch=lambda reference: _File(reference or "tiny", path))
    yield made
    made.close()


def test_a_turn_goes_from_settings_to_disk(app: App) -> None:
    """Store, engine and conversation are made on the way; the turn is kept."""
    conversation = app.conversation(replace(app.style(), max_tokens=4))
    conversation.start(model=app.default_model())
    app.preload("tiny")
    *_, last = conversation.ask(user("hi"), Cancel())
    assert isinstance(last, Finished)
    app.close()
    store = SqliteStore(paths.sessions_file())
    (session,) = store.sessions()
    assert (session.model, session.title) == ("tiny", "hi")
    assert store.turns(session.id) == [last.turn]
    store.close()


def test_a_failed_load_is_told_at_the_first_use_and_tried_again(tmp_path: Path) -> None:
    """The error of a background load is not lost, and is no verdict for ever."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 100)
    whole = write_tiny(tmp_path / "whole.gguf")
    current = [broken]
    app = App(Settings(), fetch=lambda reference: _File(reference or "", current[0]))
    app.preload("m")
    with pytest.raises(CorruptModel):
        app.engines.engine("m")
    current[0] = whole
    assert app.engines.engine("m").model == "m"
    app.close()


def test_an_engine_is_loaded_once(app: App) -> None:
    """The second asking gets the same."""
    assert isinstance(app.engines, Engines)
    app.engines.preload("a")
    first = app.engines.engine("a")
    assert app.engines.engine("a") is first
    assert app.engines.is_ready("a")
    assert not app.engines.is_ready("b")


def test_incognito_keeps_sessions_in_memory_and_writes_no_log(tmp_path: Path) -> None:
    """Nothing appears under data and state."""
    settings = Settings()
    settings = replace(settings, sessions=replace(settings.sessions, log=False))
    path = write_tiny(tmp_path / "tiny.gguf")
    app = App(settings, fetch=lambda reference: _File(reference or "tiny", path))
    conversation = app.conversation(replace(app.style(), max_tokens=3))
    conversation.start(model="tiny")
    list(conversation.ask(user("secret"), Cancel()))
    assert isinstance(app.store, MemoryStore)
    app.close()
    assert not paths.data_dir().exists()
    assert not paths.state_dir().exists()


def test_the_engines_log_goes_to_a_file_in_blocks() -> None:
    """Debug lines are left out; an error is written at once, the rest when flushed."""
    log = EngineLog(100_000)
    log.write(1, "debug\n")
    log.write(2, "hello ")
    log.write(5, "there\n")
    assert not logs_dir().exists()
    log.write(4, "failed\n")
    log.write(2, "bye\n")
    log.flush()
    assert (logs_dir() / "llama.log").read_text() == "hello there\nfailed\nbye\n"


def test_a_load_that_cannot_stop_is_not_waited_for(tmp_path: Path) -> None:
    """Closing returns at once; whatever comes after all is freed."""
    path = write_tiny(tmp_path / "tiny.gguf")
    held, ended = threading.Event(), threading.Event()

    class Slow(Engines):
        def _load(self, model: str, file: ModelFile) -> Engine:
            held.wait(60)
            self._closing.clear()  # as if the library had not asked whether to go on
            try:
                return super()._load(model, file)
            finally:
                ended.set()

    engines = Slow(Settings(), lambda _: _File("tiny", path), lambda *_: None)
    engines.preload("tiny")
    engines.close()
    assert not ended.is_set()
    held.set()
    assert ended.wait(60)


def test_a_model_that_cannot_be_had_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    """A download happens where it can be interrupted, not behind the prompt."""

    def gone(_reference: str | None) -> _File:
        raise DownloadError("it is not there")

    app = App(Settings(), fetch=gone)
    with pytest.raises(DownloadError):
        app.preload("m")
    app.close()
