"""The bare loop evaluates what the engine's own context does."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatcli.bench.measure import watch
from chatcli.bench.raw import RawLoop, RawOptions
from chatcli.engine.binding import Model, set_log
from chatcli.engine.context import Context

IDS = [(7 * i + 11) % 260 for i in range(150)]


@pytest.fixture
def model(tiny_path: Path) -> Iterator[Model]:
    """The tiny model."""
    set_log(lambda _level, _text: None)
    made = Model(tiny_path)
    yield made
    made.close()


@pytest.fixture
def context(model: Model) -> Iterator[Context]:
    """A context of batches of 64."""
    made = Context(model, 256, n_batch=64)
    yield made
    made.close()


def test_it_computes_the_engine_s_own_logits(model: Model, context: Context) -> None:
    """The same ids in the same batches: bit-equal."""
    loop = RawLoop(context)
    assert loop.prefill_s(IDS, 0) > 0
    assert loop.decode_s([1, 2], 150) > 0
    bare = context.logits(model.n_vocab).copy()
    loop.close()
    assert context.length == 152
    context.clear()
    for at in range(0, 150, 64):
        context.evaluate(IDS[at : at + 64], at, logits=at + 64 >= 150)
    context.step(1, 150)
    context.step(2, 151)
    assert (context.logits(model.n_vocab) == bare).all()


def test_what_llama_cpp_refuses_is_an_error(context: Context) -> None:
    """More than the context holds is not timed as if it had worked."""
    loop = RawLoop(context)
    with pytest.raises(RuntimeError, match="llama_decode failed with"):
        loop.prefill_s(IDS * 2, 0)
    loop.close()


def test_the_bare_process_can_be_looked_at(tiny_path: Path) -> None:
    """It evaluates, says so, and waits; options go through the command line."""
    options = RawOptions(
        n_ctx=512,
        n_batch=128,
        threads=1,
        kv_type="f16",
        flash_attention="auto",
        gpu_layers=0,
        n_prompt=150,
        n_decode=4,
    )
    command = [sys.executable, "-m", "chatcli.bench.raw", str(tiny_path), options.as_text()]
    package = str(Path(__file__).resolve().parents[2])
    seen = watch(command, {**os.environ, "PYTHONPATH": package}, hold=True)
    assert seen.peak_bytes > 1_000_000
