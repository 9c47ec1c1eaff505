"""A tiny real model for the engine's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatcli.engine.binding import Model, set_log
from chatcli.engine.cells import CellOptions, Cells
from tests.tiny_gguf import write_tiny


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a two-layer model with random weights."""
    return write_tiny(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="session")
def tiny(tiny_path: Path) -> Iterator[Model]:
    """The model, loaded."""
    set_log(lambda _level, _text: None)
    model = Model(tiny_path)
    yield model
    model.close()


@pytest.fixture
def cells(tiny: Model) -> Iterator[Cells]:
    """Empty cells that may grow to 2,048."""
    made = Cells(tiny, CellOptions(limit=2048))
    yield made
    made.close()
