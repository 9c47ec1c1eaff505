"""Cells know what is evaluated, keep what can be kept, and grow without changing a bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.core.cancel import Cancel
from chatcli.core.errors import LoadError
from chatcli.engine.binding import Model
from chatcli.engine.cells import CellOptions, Cells, common_prefix
from chatcli.engine.prefill import prefill

_IDS = st.lists(st.integers(0, 3), max_size=40)


@given(_IDS, _IDS)
def test_the_common_prefix_is_the_longest(a: list[int], b: list[int]) -> None:
    """It agrees with counting one by one."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    assert common_prefix(a, b) == n


def _evaluate(cells: Cells, ids: list[int]) -> np.ndarray:
    cells.make_room(len(ids) + 1)
    cells.take(ids)
    list(prefill(cells, ids, Cancel()))
    return cells.context.logits(cells.model.n_vocab).copy()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.integers(5, 200), min_size=1, max_size=60), min_size=2, max_size=5))
def test_whatever_was_there_before_the_logits_are_those_of_a_fresh_context(
    tiny: Model, histories: list[list[int]]
) -> None:
    """Reusing a prefix gives the same next token as evaluating everything."""
    cells = Cells(tiny, CellOptions(limit=512))
    fresh = Cells(tiny, CellOptions(limit=512))
    for ids in histories:
        reused = _evaluate(cells, ids)
        fresh.reset()
        recomputed = _evaluate(fresh, ids)
        assert np.allclose(reused, recomputed, atol=1e-3)
        assert cells.ids == ids
    cells.close()
    fresh.close()


def test_growing_keeps_every_logit(tiny: Model) -> None:
    """A context that grew goes on bit-equal to one that was large from the start."""
    ids = [5 + i % 190 for i in range(900)]
    grown = Cells(tiny, CellOptions(limit=4096))
    _evaluate(grown, ids)
    assert grown.size == 1024
    grown.make_room(1500)
    assert grown.size == 2048
    steady = Cells(tiny, CellOptions(limit=4096))
    steady.make_room(2048)
    _evaluate(steady, ids)
    for token in (7, 90, 123):
        assert grown.step(token) == steady.step(token) == 0
        n = tiny.n_vocab
        assert (grown.context.logits(n) == steady.context.logits(n)).all()
    assert grown.ids == [*ids, 7, 90, 123]
    grown.close()
    steady.close()


def test_the_limit_is_an_error_and_keeps_what_there_is(cells: Cells) -> None:
    """Asking for too much changes nothing."""
    _evaluate(cells, [5, 6, 7])
    with pytest.raises(LoadError, match="3,000 tokens do not fit a context of 2,048"):
        cells.make_room(3000)
    assert cells.ids == [5, 6, 7]


def test_a_fixed_size_is_allocated_at_once(tiny: Model) -> None:
    """`--ctx-size` means what it says."""
    cells = Cells(tiny, CellOptions(limit=768, fixed=True))
    cells.make_room(10)
    assert cells.size == 768
    cells.close()


def test_a_cancelled_prefill_says_how_far_it_came(cells: Cells) -> None:
    """What is in memory is what `ids` says, and the rest can be evaluated later."""
    ids = [5 + i % 190 for i in range(1500)]
    cancel = Cancel()
    cells.make_room(1600)
    for done, _total in prefill(cells, ids, cancel):
        assert done == len(cells.ids)
        cancel.set()
    assert cells.ids == ids[:512]
    assert cells.context.length == 512
    list(prefill(cells, ids, Cancel()))
    assert cells.ids == ids


def test_a_cancel_is_seen_inside_a_batch(cells: Cells) -> None:
    """The abort callback is asked between the nodes of the graph."""

    class Third(Cancel):
        asked = 0

        def __bool__(self) -> bool:
            self.asked += 1
            return self.asked >= 3

    assert list(prefill(cells, [5] * 500, Third())) == []
    assert cells.ids == []
    assert cells.context.length == 0
