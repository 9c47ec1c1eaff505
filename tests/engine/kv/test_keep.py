"""What is read back is what was evaluated, to the bit, and nothing is evaluated twice."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatcli.engine.binding import Model
from chatcli.engine.cells import CellOptions
from chatcli.engine.kv.keep import LEAST_TOKENS, cuts
from chatcli.engine.kv.store import open_disk
from tests.engine.kv.made import NAMESPACE
from tests.engine.kv.side import Side, recomputed, words
from tests.tiny_gemma import WINDOW


@given(st.integers(0, 50), st.lists(st.integers(0, 400), max_size=4), st.integers(8, 100))
def test_cuts_stand_at_boundaries_and_are_never_far_apart(
    start: int, boundaries: list[int], size: int
) -> None:
    """No block is longer than the size, and only a short rest is left."""
    boundaries = sorted(b for b in boundaries if b > start)
    ends = list(cuts(start, boundaries, size))
    assert ends == sorted(set(ends))
    for before, end in zip([start, *ends], ends, strict=False):
        assert LEAST_TOKENS <= end - before <= size
    if boundaries:
        assert boundaries[-1] - ([start, *ends][-1]) < LEAST_TOKENS


def test_a_fresh_process_goes_on_to_the_bit(model: Model, tmp_path: Path) -> None:
    """Only new tokens are evaluated, and the next 20 logits are those of an unbroken run."""
    first = Side(model, tmp_path)
    prompt, reply = words(1, 300), words(2, 50)
    first.turn(prompt, reply)
    first.close()
    second = Side(model, tmp_path)
    told = [*prompt, *reply, *words(3, 9)]
    second.turn(told)
    assert (second.fetched.memory, second.fetched.disk, second.evaluated) == (0, 350, 9)
    unbroken = recomputed(model, told)
    for token in words(4, 20):
        assert (second.logits == unbroken.logits).all()
        second._step([token])
        unbroken._step([token])
    second.close()
    unbroken.close()


def test_a_turn_writes_its_own_new_tokens(model: Model, tmp_path: Path) -> None:
    """The second turn of a chat writes no byte of the first, in this process or the next."""
    side = Side(model, tmp_path)
    told: list[int] = []
    written = []
    for turn in range(4):
        if turn == 3:
            side.close()
            side = Side(model, tmp_path)
        side.turn([*told, *words(turn, 60)], words(100 + turn, 40))
        told += words(turn, 60) + words(100 + turn, 40)
        written.append(side.written)
        assert side.fetched.memory + side.fetched.disk == 100 * turn
    side.close()
    assert max(written) == min(written) > 0


def test_fork_edit_and_regenerate_evaluate_what_differs(model: Model, tmp_path: Path) -> None:
    """In a fresh process, anywhere in the chat; at least one token for its logits."""
    side = Side(model, tmp_path)
    told: list[int] = []
    for turn in range(6):
        side.turn([*told, *words(turn, 70)], words(100 + turn, 33))
        told = [*told, *words(turn, 70), *words(100 + turn, 33)]
    side.close()
    for cut in (70, 103, 150, 290, 500, 618):
        side = Side(model, tmp_path)
        other = [*told[:cut], *words(77 + cut, 20)]
        side.turn(other)
        assert (side.fetched.disk, side.evaluated) == (cut, 20)
        unbroken = recomputed(model, other)
        assert (side.logits == unbroken.logits).all()
        again = told[:cut]
        side.turn(again)
        assert side.evaluated == 1
        unbroken.turn(again)
        assert (side.logits == unbroken.logits).all()
        side.close()
        unbroken.close()


@pytest.mark.parametrize("name", ["tiny", "gemma", "lfm2"])
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_tree_of_turns_never_changes_a_logit(
    request: pytest.FixtureRequest, name: str, data: st.DataObject
) -> None:
    """Turns, forks, edits, regenerations, evictions and restarts, against a recompute."""
    model: Model = request.getfixturevalue(name)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        side = Side(model, folder, size=32)
        chats: list[list[int]] = [[]]
        for step in range(data.draw(st.integers(3, 8))):
            action = data.draw(st.sampled_from(["turn", "turn", "edit", "restart", "evict"]))
            told = data.draw(st.sampled_from(chats))
            if action == "restart":
                side.close()
                side = Side(model, folder, size=32)
            elif action == "evict":
                assert side.keeper is not None
                side.keeper._store.flush()
                side.keeper._store.evict(data.draw(st.integers(1, 200_000)))
            else:
                n = len(told) if action == "turn" else data.draw(st.integers(0, len(told)))
                prompt = [*told[:n], *words(step, data.draw(st.integers(1, 90)))]
                reply = words(50 + step, data.draw(st.integers(0, 40)))
                side.turn(prompt, reply)
                chats.append([*prompt, *reply])
                unbroken = recomputed(model, chats[-1])
                assert (side.logits == unbroken.logits).all()
                unbroken.close()
        side.close()


def test_memory_is_used_before_the_disk(model: Model, tmp_path: Path) -> None:
    """What is in memory is not read again; what another session stored is."""
    one = Side(model, tmp_path)
    one.turn(words(1, 200))
    one.keeper._store.flush()  # type: ignore[union-attr]
    one.turn([*words(1, 200), *words(2, 10)])
    assert (one.fetched.memory, one.fetched.n_bytes) == (200, 0)
    two = Side(model, tmp_path)
    two.turn([*words(1, 200), *words(3, 30)], session="t")
    assert two.fetched.disk == 200
    two.close()
    one.turn([*words(1, 200), *words(3, 30), *words(4, 5)])
    assert one.evaluated == 5
    one.close()


def test_a_damaged_block_is_dropped_and_the_rest_evaluated(model: Model, tmp_path: Path) -> None:
    """The prefix before it is used, one line says so, and the answer is the same."""
    side = Side(model, tmp_path, size=64)
    told = words(1, 300)
    side.turn(told)
    side.close()
    store = open_disk(tmp_path)
    rows = store.match(NAMESPACE, told).rows
    path = store.shelf.path(NAMESPACE, rows[2].id)  # type: ignore[attr-defined]
    data = bytearray(path.read_bytes())
    data[-100] ^= 4
    path.write_bytes(data)
    store.close()
    side = Side(model, tmp_path, size=64)
    side.turn([*told, 7])
    assert side.fetched.disk == rows[2].block.start
    assert "damaged" in side.fetched.notice
    unbroken = recomputed(model, [*told, 7])
    assert (side.logits == unbroken.logits).all()
    side.close()
    side = Side(model, tmp_path, size=64)  # what was dropped has been written anew
    side.turn([*told, 7, 8])
    assert (side.fetched.disk, side.fetched.notice) == (301, "")
    side.close()
    unbroken.close()


def test_bytes_that_only_look_right_are_refused_by_what_they_give(
    tiny: Model, gemma: Model, tmp_path: Path
) -> None:
    """A block with a good checksum over state of another model changes nothing."""
    side = Side(gemma, tmp_path)
    side.turn(words(1, 100))
    side.close()
    side = Side(tiny, tmp_path)  # the same namespace: as if two models were taken for one
    side.turn([*words(1, 100), 9])
    assert side.fetched.disk == 0
    assert "llama.cpp refused it" in side.fetched.notice
    unbroken = recomputed(tiny, [*words(1, 100), 9])
    assert (side.logits == unbroken.logits).all()
    side.close()
    unbroken.close()


def test_growing_and_restoring_go_together(model: Model, tmp_path: Path) -> None:
    """A chat longer than the first context comes back, and goes on growing."""
    side = Side(model, tmp_path)
    told = words(1, 1500)
    side.turn(told)
    assert side.cells.size >= 1500
    side.close()
    side = Side(model, tmp_path)
    side.turn([*told, *words(2, 3)], words(3, 700))
    assert side.fetched.disk == 1500
    unbroken = recomputed(model, [*told, *words(2, 3), *words(3, 700)])
    assert (side.logits == unbroken.logits).all()
    side.close()
    unbroken.close()


def test_behind_a_window_blocks_are_taken_in_time(gemma: Model, tmp_path: Path) -> None:
    """A prefix far before the window's end comes back whole: its cells were lost long ago."""
    side = Side(gemma, tmp_path)
    told = words(1, 20 * WINDOW)
    side.turn(told[:-100], told[-100:])
    side.close()
    side = Side(gemma, tmp_path)
    other = [*told[: 3 * WINDOW], 5]
    side.turn(other)
    assert side.evaluated == 1
    unbroken = recomputed(gemma, other)
    assert (side.logits == unbroken.logits).all()
    side.close()
    unbroken.close()


def test_what_reading_would_not_beat_is_not_kept(tiny: Model, tmp_path: Path) -> None:
    """On a machine that evaluates faster than it reads nothing is written."""
    side = Side(tiny, tmp_path)
    assert side.keeper is not None
    side.turn(words(1, 100))
    assert side.written > 0
    side.keeper._measure(1000, 1e-6)
    side.turn(words(2, 100))
    assert side.written == 0
    side.close()


@pytest.mark.parametrize("kind", ["f16", "q8_0"])
def test_either_type_of_cell_comes_back(gemma: Model, tmp_path: Path, kind: str) -> None:
    """16 bits without flash attention, where V lies crosswise; 8 bits with it."""
    options = CellOptions(
        limit=512, kv_type=kind, flash_attention="on" if kind == "q8_0" else "off"
    )
    side = Side(gemma, tmp_path, options=options)
    side.turn(words(1, 100))
    side.close()
    side = Side(gemma, tmp_path, options=options)
    side.turn([*words(1, 100), 9])
    assert side.fetched.disk == 100
    unbroken = recomputed(gemma, [*words(1, 100), 9], options)
    assert (side.logits == unbroken.logits).all()
    side.close()
    unbroken.close()


def test_cells_behind_the_window_are_not_mistaken_for_whole(gemma: Model) -> None:
    """llama.cpp would hand out a block without them; it would answer wrongly later."""
    side = recomputed(gemma, words(1, 20 * WINDOW))
    assert side.cells.copy_out(0, WINDOW) is None
    assert side.cells.copy_out(19 * WINDOW, 20 * WINDOW) is not None
    assert side.cells.copy_out(19 * WINDOW, 20 * WINDOW + 1) is None
    side.close()
