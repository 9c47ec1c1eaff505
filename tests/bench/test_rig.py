"""Engine and bare loop take turns in one memory, at the same place."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatcli.bench.measure import BenchError
from chatcli.bench.rig import Rig, prose
from chatcli.settings import ContextSettings, EngineSettings, Settings


@pytest.fixture
def rig(tiny_path: Path) -> Iterator[Rig]:
    """The tiny model, opened as a chat opens it."""
    made = Rig("tiny", tiny_path, Settings(engine=EngineSettings(threads=1)))
    yield made
    made.close()


def test_the_prose_is_always_the_same_and_never_repeats_a_sentence() -> None:
    """Runs can be compared, and a model does not find a loop in it."""
    sentences = prose(60).split(". ")
    assert prose(60) == prose(60)
    assert prose(60).startswith(prose(59))
    assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize("depth", [0, 300])
def test_both_sides_prefill_the_same_ids_behind_the_same_depth(rig: Rig, depth: int) -> None:
    """After either of them the memory holds the same; at least the tokens asked for are new."""
    scene = rig.prefill_scene(depth, 128)
    new = len(scene.ids) - scene.depth
    assert 128 <= new < 128 + 150  # a sentence more at most, and the template's words
    assert scene.depth >= depth
    for _ in range(2):
        assert rig.engine_prefill_s(scene) > 0
        assert tuple(rig.cells.ids) == scene.ids
        assert rig.raw_prefill_s(scene) > 0
        assert tuple(rig.cells.ids) == scene.ids
        assert rig.cells.context.length == len(scene.ids)


@pytest.mark.parametrize("depth", [0, 300])
def test_both_sides_decode_the_same_reply(rig: Rig, depth: int) -> None:
    """The bare loop is given the ids that the engine says with this seed, again and again."""
    scene, said = rig.decode_scene(depth, 12)
    assert len(said) == 12
    assert len(scene.ids) >= depth
    for _ in range(2):
        assert rig.engine_decode_s(scene, said) > 0
        assert tuple(rig.cells.ids) == (*scene.ids, *said)
        assert rig.raw_decode_s(scene, said) > 0
        assert tuple(rig.cells.ids) == (*scene.ids, *said)
        assert rig.cells.context.length == len(scene.ids) + len(said)


def test_a_model_that_does_not_go_on_is_refused(tiny_path: Path) -> None:
    """Where the context ends before the window does, no seed gives a reply that is long enough."""
    settings = Settings(engine=EngineSettings(threads=1), context=ContextSettings(size=256))
    small = Rig("tiny", tiny_path, settings)
    with pytest.raises(BenchError, match="tiny does not go on for 200 tokens"):
        small.decode_scene(0, 200)
    small.close()


def test_something_else_than_was_expected_is_not_timed(rig: Rig) -> None:
    """A prompt that was evaluated in part only would look fast."""
    scene = rig.prefill_scene(0, 128)
    rig.stand_at(scene.ids, 0)
    wrong = type(scene)(scene.prompt, scene.ids[:-3], 0)
    with pytest.raises(BenchError, match="were expected"):
        rig.engine_prefill_s(wrong)


def test_the_end_of_the_memory_can_be_evaluated_again(rig: Rig) -> None:
    """As the warm case does it: the chat's memory is the same afterwards."""
    scene, said = rig.decode_scene(0, 12)
    rig.engine_decode_s(scene, said)
    before = list(rig.cells.ids)
    assert rig.raw_again_s(20, len(scene.ids)) > 0
    assert rig.cells.ids == before
    assert rig.cells.context.length == len(before)
