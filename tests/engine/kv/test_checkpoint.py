"""Hybrid models go on from the end of a turn, to the bit."""

from pathlib import Path

from chatcli.engine.binding import Model
from chatcli.engine.kv.store import CHECKPOINTS, open_disk
from tests.engine.kv.side import Side, recomputed, words


def _chat(model: Model, folder: Path, n_turns: int) -> list[list[int]]:
    """Return the ids after each turn."""
    side = Side(model, folder)
    told: list[int] = []
    after = []
    for turn in range(n_turns):
        side.turn([*told, *words(turn, 60)], words(100 + turn, 41))
        assert side.evaluated == 60
        told = [*told, *words(turn, 60), *words(100 + turn, 41)]
        after.append(told)
    side.close()
    return after


def test_a_fresh_process_goes_on_to_the_bit(lfm2: Model, tmp_path: Path) -> None:
    """Cells from blocks, the recurrent state from the end of the last turn."""
    told = [*_chat(lfm2, tmp_path, 4)[-1], *words(9, 12)]
    side = Side(lfm2, tmp_path)
    side.turn(told)
    assert (side.fetched.disk, side.evaluated) == (404, 12)
    unbroken = recomputed(lfm2, told)
    for token in words(4, 20):
        assert (side.logits == unbroken.logits).all()
        side._step([token])
        unbroken._step([token])
    side.close()
    unbroken.close()


def test_an_edit_goes_back_to_the_end_of_a_turn(lfm2: Model, tmp_path: Path) -> None:
    """Regenerating and editing evaluate at most one turn, in this process and the next."""
    after = _chat(lfm2, tmp_path, 4)
    for told, n_before in ((after[3][:-41], 303), (after[3], 303), ([*after[2], 7], 303)):
        side = Side(lfm2, tmp_path)
        side.turn(told)
        assert side.fetched.disk == n_before
        unbroken = recomputed(lfm2, told)
        assert (side.logits == unbroken.logits).all()
        side.turn([*told[:-1], 8])  # what is in memory cannot be cut
        assert side.fetched.memory == 0
        assert side.fetched.disk == n_before
        unbroken.turn([*told[:-1], 8])
        assert (side.logits == unbroken.logits).all()
        side.close()
        unbroken.close()


def test_a_session_keeps_its_last_states_alone(lfm2: Model, tmp_path: Path) -> None:
    """Each is as large as the first, whatever the length of the chat."""
    after = _chat(lfm2, tmp_path, 6)
    store = open_disk(tmp_path)
    ends = [row.block.start for row in store.index.rows() if row.block.kind == "checkpoint"]
    assert sorted(ends) == [len(told) for told in after[-CHECKPOINTS:]]
    store.close()


def test_a_damaged_state_means_evaluating_anew(lfm2: Model, tmp_path: Path) -> None:
    """The attention's cells alone would answer wrongly: nothing of them is used."""
    told = [*_chat(lfm2, tmp_path, 2)[-1], 5]
    store = open_disk(tmp_path)
    (last,) = (row for row in store.index.rows() if row.block.start == len(told) - 1)
    path = store.shelf.path(last.block.namespace, last.id)  # type: ignore[attr-defined]
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    store.close()
    side = Side(lfm2, tmp_path)
    side.turn(told)
    assert (side.fetched.memory, side.fetched.disk) == (0, 0)
    assert "damaged" in side.fetched.notice
    unbroken = recomputed(lfm2, told)
    assert (side.logits == unbroken.logits).all()
    side.close()
    unbroken.close()


def test_growing_keeps_the_recurrent_state(lfm2: Model, tmp_path: Path) -> None:
    """A chat longer than the first context comes back and goes on."""
    side = Side(lfm2, tmp_path)
    side.turn(words(1, 1100))
    side.close()
    side = Side(lfm2, tmp_path)
    told = [*words(1, 1100), 3]
    side.turn(told, words(2, 1000))
    assert side.fetched.disk == 1100
    unbroken = recomputed(lfm2, [*told, *words(2, 1000)])
    assert (side.logits == unbroken.logits).all()
    side.close()
    unbroken.close()
