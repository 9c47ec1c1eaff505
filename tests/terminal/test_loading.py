"""A model that loads behind the prompt."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chatcli.core.errors import LoadError
from chatcli.terminal.loading import Loading
from chatcli.testing import ScriptedEngine
from tests.terminal.conftest import OneBroken


class Gate(ScriptedEngine):
    """Loads when the gate is opened; counts the attempts."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.attempts = 0

    def engine(self, model: str) -> ScriptedEngine:
        """Wait for the gate."""
        self.attempts += 1
        self.gate.wait(20)
        return super().engine(model)


def test_it_is_loaded_once_and_says_when_it_ends() -> None:
    """Asking again while it loads, or afterwards, costs nothing."""
    gate, ended = Gate(), threading.Event()
    loading = Loading(gate, ended.set)
    loading.start("m")
    loading.start("m")
    assert loading.loading("m")
    assert not loading.ready("m")
    gate.gate.set()
    loading.wait("m")
    assert ended.wait(5)
    assert loading.ready("m")
    loading.wait("m")
    assert gate.attempts == 1


def test_an_error_comes_to_whoever_waits_and_the_next_try_is_new() -> None:
    """It is visible before, for the status line."""
    loading = Loading(OneBroken())
    loading.start("broken")
    with pytest.raises(LoadError, match="broken cannot be loaded"):
        loading.wait("broken")
    assert loading.error("broken") is None
    with pytest.raises(LoadError):
        loading.wait("broken")


def test_ctrl_c_ends_the_wait_and_not_the_load() -> None:
    """The announcement is taken away again."""
    gate = Gate()
    loading = Loading(gate)
    seen: list[str] = []

    @contextmanager
    def announce() -> Iterator[None]:
        seen.append("shown")
        try:
            yield
        finally:
            seen.append("erased")

    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        loading.wait("m", announce)
    assert seen == ["shown", "erased"]
    assert loading.loading("m")
    gate.gate.set()
    loading.wait("m")
