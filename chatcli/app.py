"""The composition root: settings become the objects of a run, each at its first use.

Order of dependence: settings -> store, log -> model file -> engine -> conversation.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Protocol

from chatcli import paths
from chatcli.core.errors import ChatcliError
from chatcli.core.ids import new_id
from chatcli.core.ports import Engine, EngineSource, SessionStore
from chatcli.orchestrator.conversation import Conversation, Style
from chatcli.orchestrator.turn import Ports
from chatcli.settings import Settings

Write = Callable[[int, str], None]


_PATIENCE_S = 0.1
"""How long the end of a load is waited for that was asked to stop."""


class ModelFile(Protocol):
    """A model that can be loaded: its name for the user, and its file."""

    @property
    def name(self) -> str: ...  # noqa: D102  # as the class says

    @property
    def path(self) -> Path: ...  # noqa: D102


Fetch = Callable[[str | None], ModelFile]
"""Finds the file of a model (None: the default one), and downloads it if need be."""


class Engines:
    """Loads models, in the background where it is asked to, and keeps them."""

    def __init__(self, settings: Settings, fetch: Fetch, log: Write) -> None:
        self._settings = settings
        self._fetch = fetch
        self._log = log
        self._loaded: dict[str, Future[Engine]] = {}
        self._loader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="load")
        self._closing = threading.Event()

    def preload(self, model: str) -> None:
        """Begin to load `model` behind whatever happens next; errors come at the first use.

        What must be downloaded is so at once, where it can be interrupted and cleaned up.

        Raises:
            ChatcliError: there is no such model, or it cannot be had.
        """
        if model not in self._loaded:
            file = self._fetch(model)
            self._loaded[model] = self._loader.submit(self._load, model, file)

    def is_ready(self, model: str) -> bool:
        """Whether `engine(model)` would return at once."""
        return model in self._loaded and self._loaded[model].done()

    def engine(self, model: str) -> Engine:
        """Return the engine of `model`, loaded now if it is not yet.

        Raises:
            ChatcliError: it cannot be loaded; asking again tries again.
        """
        self.preload(model)
        try:
            return self._loaded[model].result()
        except ChatcliError:
            self._loaded.pop(model, None)
            raise

    def _load(self, model: str, file: ModelFile) -> Engine:
        from chatcli.engine.facade import LlamaEngine

        self._free_memory_for(file.path, model)
        return LlamaEngine(
            file.name,
            file.path,
            self._settings,
            self._log,
            go_on=lambda: not self._closing.is_set(),
        )

    def _free_memory_for(self, path: Path, model: str) -> None:
        """Close idle models if the new one would not fit beside them."""
        from chatcli.engine.load import free_memory

        idle = [n for n, f in self._loaded.items() if n != model and f.done() and not f.exception()]
        free = free_memory()
        if not idle or free is None or free > 1.3 * path.stat().st_size:
            return
        for name in idle:
            self._loaded.pop(name).result().close()

    def close(self) -> None:
        """Stop loading, and free every model.

        A load that cannot stop at once is left behind; its model is freed when it ends.
        """
        self._closing.set()
        loads = list(self._loaded.values())
        running = wait(loads, _PATIENCE_S).not_done
        self._loader.shutdown(wait=not running, cancel_futures=True)
        for future in loads:
            future.add_done_callback(_free)
        self._loaded.clear()


def _free(future: "Future[Engine]") -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().close()


class EngineLog:
    """llama.cpp's own lines, gathered into blocks: it says a thousand while it loads.

    Debug lines are left out. Nothing is written in an incognito run.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held: list[str] = []
        self._n_held = 0

    def write(self, level: int, text: str) -> None:
        """Take a piece of a line; level 1 is debug, 5 continues the line before."""
        if level == 1:
            return
        self._held.append(text)
        self._n_held += len(text)
        if self._n_held > 10_000 or level == 4:
            self.flush()

    def flush(self) -> None:
        """Write what is held to `llama.log` in the state folder."""
        from chatcli.log import append_line, logs_dir

        block = "".join(self._held).rstrip("\n").encode("utf-8", "backslashreplace")
        self._held.clear()
        self._n_held = 0
        if block:
            try:
                append_line(logs_dir() / "llama.log", block, self._max_bytes)
            except (OSError, ChatcliError):
                return  # a log that cannot be written must never stop a chat


class App:
    """What a command works with. Everything is made at its first use, and closed together."""

    def __init__(
        self,
        settings: Settings,
        *,
        engines: EngineSource | None = None,
        store: SessionStore | None = None,
        fetch: Fetch | None = None,
    ) -> None:
        self.settings = settings
        self._engines = engines
        self._store = store
        self._fetch = fetch or (lambda reference: _quiet_fetch(reference, settings))
        self._log: EngineLog | None = None
        self._conversations: list[Conversation] = []

    @property
    def engines(self) -> EngineSource:
        """Where engines come from."""
        if self._engines is None:
            keep = self.settings.sessions.log
            self._log = EngineLog(self.settings.logs.max_bytes) if keep else None
            write = self._log.write if self._log else _discard
            self._engines = Engines(self.settings, self._fetch, write)
        return self._engines

    @property
    def store(self) -> SessionStore:
        """Where sessions are kept: on disk, or in memory when nothing is to be kept."""
        if self._store is None:
            self._store = _open_store(keep=self.settings.sessions.log)
        return self._store

    def preload(self, model: str) -> None:
        """Begin to load a model in the background, where the engine source can."""
        if isinstance(self.engines, Engines):
            self.engines.preload(model)

    def default_model(self) -> str:
        """Return the model to use when none is named; the first run chooses and fetches one."""
        if self.settings.model is not None:
            return self.settings.model
        if self._engines is not None and not isinstance(self._engines, Engines):
            return "scripted"
        return self._fetch(None).name

    def conversation(self, style: Style | None = None) -> Conversation:
        """Return a new conversation; `start` or `load` it."""
        from chatcli.sessions.titles import title_from

        ports = Ports(engines=self.engines, store=self.store, now=time.time, new_id=new_id)
        conversation = Conversation(ports, style or self.style(), title_from)
        self._conversations.append(conversation)
        return conversation

    def style(self) -> Style:
        """Return how replies are made by the settings."""
        s = self.settings
        return Style(
            sampling=s.sampling, max_tokens=s.reply.max_tokens, overflow=s.context.overflow
        )

    def close(self) -> None:
        """Let go of sessions, models and the database."""
        for conversation in self._conversations:
            conversation.close()
        if isinstance(self._engines, Engines):
            self._engines.close()
        if self._log is not None:
            self._log.flush()
        close = getattr(self._store, "close", None)
        if close is not None:
            close()


def _discard(_level: int, _text: str) -> None:
    """Take a log line and keep nothing."""


def _open_store(*, keep: bool) -> SessionStore:
    if keep:
        from chatcli.sessions.sqlite import SqliteStore

        return SqliteStore(paths.sessions_file())
    from chatcli.testing import MemoryStore

    return MemoryStore()


def _quiet_fetch(reference: str | None, settings: Settings) -> ModelFile:
    from chatcli.catalogue.ensure import default_reference, ensure_model
    from chatcli.catalogue.entries import embedded_entry
    from chatcli.catalogue.load import load_entries

    name = reference or default_reference(settings) or embedded_entry(load_entries()).name
    return ensure_model(name, settings, say=lambda _: None, progress=lambda *_: None)
