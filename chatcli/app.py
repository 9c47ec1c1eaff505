"""The composition root, provisional: settings, store and engines, each at its first use."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from chatcli import paths
from chatcli.core.errors import ModelNotFound
from chatcli.core.ids import new_id
from chatcli.core.ports import EngineSource, SessionStore
from chatcli.orchestrator.conversation import Conversation, Style
from chatcli.orchestrator.turn import Ports
from chatcli.settings import Settings


class ModelFile(Protocol):
    """A model that can be loaded: its name for the user, and its file."""

    @property
    def name(self) -> str: ...  # noqa: D102  # as the class says

    @property
    def path(self) -> Path: ...  # noqa: D102


Fetch = Callable[[str | None], ModelFile]


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
        self._fetch = fetch

    @property
    def engines(self) -> EngineSource:
        """Where engines come from."""
        if self._engines is None:
            raise ModelNotFound("no engine is built in yet")
        return self._engines

    @property
    def store(self) -> SessionStore:
        """Where sessions are kept: on disk, or in memory when nothing is to be kept."""
        if self._store is None:
            self._store = _open_store(keep=self.settings.sessions.log)
        return self._store

    def preload(self, model: str) -> None:
        """Begin to load a model in the background, where the engine source can."""

    def default_model(self) -> str:
        """Return the model to use when none is named."""
        return self.settings.model or "scripted"

    def conversation(self, style: Style | None = None) -> Conversation:
        """Return a new conversation; `start` or `load` it."""
        from chatcli.sessions.titles import title_from

        ports = Ports(engines=self.engines, store=self.store, now=time.time, new_id=new_id)
        return Conversation(ports, style or self.style(), title_from)

    def style(self) -> Style:
        """Return how replies are made by the settings."""
        s = self.settings
        return Style(
            sampling=s.sampling, max_tokens=s.reply.max_tokens, overflow=s.context.overflow
        )

    def close(self) -> None:
        """Let go of the database."""
        close = getattr(self._store, "close", None)
        if close is not None:
            close()


def _open_store(*, keep: bool) -> SessionStore:
    if keep:
        from chatcli.sessions.sqlite import SqliteStore

        return SqliteStore(paths.sessions_file())
    from chatcli.testing import MemoryStore

    return MemoryStore()
