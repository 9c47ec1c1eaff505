"""Models on their way into memory, behind the prompt.

A model is loaded in a thread of its own; whoever needs it waits here and can be interrupted.
Knows nothing about what a model is then used for.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from chatcli.core.errors import ChatcliError
from chatcli.core.ports import EngineSource

_POLL_S = 0.05
_PATIENCE_S = 0.3
"""Waits shorter than this need no line of their own."""


class _Load:
    def __init__(self, engines: EngineSource, model: str, ended: Callable[[], None]) -> None:
        self.error: ChatcliError | None = None
        # Not Thread.join and is_alive: before Python 3.13 a Ctrl-C in join makes the thread
        # count as ended while it still runs.
        self.over = threading.Event()
        self._engines = engines
        self._model = model
        self._ended = ended
        # A daemon: who leaves while a model is being loaded does not wait for it.
        threading.Thread(target=self._run, name=f"load {model}", daemon=True).start()

    def _run(self) -> None:
        try:
            self._engines.engine(self._model)
        except ChatcliError as error:
            self.error = error
        finally:
            self.over.set()
        self._ended()


class Loading:
    """The models asked for so far. `ended` is called, in a thread, whenever a load ends."""

    def __init__(self, engines: EngineSource, ended: Callable[[], None] = lambda: None) -> None:
        self.ended = ended
        self._engines = engines
        self._loads: dict[str, _Load] = {}

    def start(self, model: str) -> None:
        """Load `model` in the background, unless that is already under way or done."""
        if model not in self._loads:
            self._loads[model] = _Load(self._engines, model, self._ended)

    def _ended(self) -> None:
        self.ended()  # whoever listens now, not when the load began

    def loading(self, model: str) -> bool:
        """Return whether `model` is being loaded now."""
        load = self._loads.get(model)
        return load is not None and not load.over.is_set()

    def ready(self, model: str) -> bool:
        """Return whether `model` can be used without waiting."""
        load = self._loads.get(model)
        return load is not None and load.over.is_set() and load.error is None

    def error(self, model: str) -> ChatcliError | None:
        """Return why the last attempt to load `model` failed, if it did."""
        load = self._loads.get(model)
        return None if load is None or not load.over.is_set() else load.error

    def wait(
        self,
        model: str,
        announce: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Return when `model` can be used. `announce` surrounds a wait that is long.

        A failed load is forgotten with its error, so that the next attempt starts anew.

        Raises:
            ChatcliError: it cannot be loaded.
            KeyboardInterrupt: the user would not wait; the load goes on.
        """
        self.start(model)
        load = self._loads[model]
        if not load.over.wait(_PATIENCE_S):
            with announce():
                while not load.over.wait(_POLL_S):
                    pass
        if load.error is not None:
            del self._loads[model]
            raise load.error
