"""Tiny models of the other memory types: sliding windows, and recurrent layers."""

from collections.abc import Iterator

import pytest

from chatcli.engine.binding import Model, set_log
from tests.tiny_gemma import write_tiny_gemma
from tests.tiny_lfm2 import write_tiny_lfm2


@pytest.fixture(scope="session")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """Six layers, five of them behind a window of 64 tokens."""
    set_log(lambda _level, _text: None)
    model = Model(write_tiny_gemma(tmp_path_factory.mktemp("models") / "gemma.gguf"))
    yield model
    model.close()


@pytest.fixture(scope="session")
def lfm2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """Two layers of attention, two with a recurrent state."""
    set_log(lambda _level, _text: None)
    model = Model(write_tiny_lfm2(tmp_path_factory.mktemp("models") / "lfm2.gguf"))
    yield model
    model.close()


@pytest.fixture(scope="session", params=["tiny", "gemma"])
def model(request: pytest.FixtureRequest) -> Model:
    """Plain attention, and sliding windows."""
    found: Model = request.getfixturevalue(request.param)
    return found
