"""Opening a model: what it falls back to, and what it says when it cannot."""

import os
from pathlib import Path

import gguf
import pytest

from chatcli.core.errors import CorruptModel, LoadError
from chatcli.engine.load import (
    _fewer,
    default_threads,
    free_memory,
    gpu_devices,
    open_model,
)
from chatcli.settings import ContextSettings, EngineSettings
from tests.tiny_gguf import N_LAYER, write_tiny


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _ignore(_level: int, _text: str) -> None:
    """Take a log line."""


def test_fewer_and_fewer_layers_are_tried_down_to_none(tiny_path: Path) -> None:
    """From "all" through three quarters of what is left to 0, always smaller."""
    tried = [-1]
    while tried[-1] != 0:
        tried.append(_fewer(tried[-1], tiny_path))
    counts = [N_LAYER + 1, *tried[1:]]
    assert counts == sorted(set(counts), reverse=True)
    many = [100]
    while many[-1]:
        many.append(_fewer(many[-1], tiny_path))
    assert many[:4] == [100, 75, 56, 42]
    assert many == sorted(set(many), reverse=True)


def test_asking_for_layers_on_a_build_without_a_gpu_is_no_error(tiny_path: Path) -> None:
    """`--gpu-layers 99` on a CPU build loads on the CPU, as llama.cpp's own tools do."""
    opened = open_model(tiny_path, EngineSettings(gpu_layers=99), ContextSettings(), _ignore)
    if not gpu_devices():
        assert opened.gpu_layers == 0
    opened.cells.close()
    opened.model.close()


def test_a_context_longer_than_the_model_was_trained_for_is_cut(tmp_path: Path) -> None:
    """Beyond its training a model talks rubbish."""
    path = write_tiny(tmp_path / "short.gguf", context=512)
    opened = open_model(path, EngineSettings(), ContextSettings(size=100_000), _ignore)
    assert opened.cells.options.limit == 512
    opened.cells.close()
    opened.model.close()


def test_an_architecture_that_the_library_does_not_know_is_named(tmp_path: Path) -> None:
    """The error says which, and that a newer library may know it."""
    path = tmp_path / "new.gguf"
    writer = gguf.GGUFWriter(str(path), "brandnew")
    writer.add_block_count(1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(LoadError, match=r"new\.gguf.*brandnew.*pip install -U llama-cpp-python"):
        open_model(path, EngineSettings(), ContextSettings(), _ignore)


def test_giving_up_while_loading_is_an_error_not_a_crash(tiny_path: Path) -> None:
    """`go_on` is asked by llama.cpp itself."""
    with pytest.raises((LoadError, CorruptModel)):
        open_model(tiny_path, EngineSettings(), ContextSettings(), _ignore, lambda: False)


def test_the_machine_is_looked_at_plainly() -> None:
    """At least one thread, no more than there are; some memory."""
    assert 1 <= default_threads() <= (os.cpu_count() or 1)
    memory = free_memory()
    assert memory is not None
    assert memory > 1 << 20


def test_kv_type_q8_0_works_and_takes_less(tiny_path: Path) -> None:
    """The state of the same tokens is smaller with quantised cells."""
    sizes = []
    for kv_type in ("f16", "q8_0"):
        settings = EngineSettings(kv_type=kv_type)
        opened = open_model(tiny_path, settings, ContextSettings(size=512), _ignore)
        assert opened.cells.extend([5] * 64, logits=True) == 0
        sizes.append(len(opened.cells.context.save()))
        opened.cells.close()
        opened.model.close()
    assert sizes[1] < sizes[0] * 0.7
