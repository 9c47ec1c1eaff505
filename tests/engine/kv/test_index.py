"""The index finds what a look at every block would find."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.engine.kv.index import Index, Row, Space, Tally, agreement, ordered
from tests.engine.kv.made import NAMESPACE, block

_TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=6)


def _row(ids: list[int], start: int = 0) -> Row:
    made = block(ids, start)
    return Row(made, made.id, 10)


def _common(a: list[int], b: list[int]) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


@settings(deadline=None)
@given(st.lists(_TOKENS, max_size=12), _TOKENS)
def test_the_neighbours_are_the_best_of_all_siblings(
    siblings: list[list[int]], wanted: list[int]
) -> None:
    """The nearest agrees the furthest; the whole ones are all prefixes, longest first."""
    index = Index(None)
    index.add([_row(ids) for ids in siblings])
    parent = block(wanted).parent
    best = max((_common(ids, wanted) for ids in siblings), default=0)
    nearest = index.nearest(parent, ordered(wanted))
    if nearest is None:
        assert best == 0
    else:
        row, n = nearest
        assert n == best == _common(list(row.block.tokens), wanted)
    prefixes = {tuple(ids) for ids in siblings if wanted[: len(ids)] == ids}
    found = [row.block.tokens for row in index.whole(parent, ordered(wanted))]
    assert found == sorted(prefixes, key=len, reverse=True)
    index.close()


@settings(deadline=None)
@given(_TOKENS, _TOKENS)
def test_agreement_counts_tokens(a: list[int], b: list[int]) -> None:
    """It agrees with counting one by one, and the order of bytes is that of tokens."""
    assert agreement(ordered(a), ordered(b)) == _common(a, b)
    assert (ordered(a) < ordered(b)) == (a < b)


def test_thousands_of_siblings_cost_no_more() -> None:
    """A look-up among 5,000 children of one parent does not look at each."""
    index = Index(None)
    index.add([_row([i, 5, 6]) for i in range(5000)])
    wanted = ordered([4321, 5, 6, 7])
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    index._db.set_progress_handler(count, 1)
    nearest = index.nearest(block([1]).parent, wanted)
    assert nearest is not None
    assert nearest[0].block.tokens == (4321, 5, 6)
    assert steps < 200  # virtual machine instructions, of SQLite
    index.close()


def test_leaves_come_least_used_first_and_dead_namespaces_alone() -> None:
    """A block that another follows is no leaf."""
    index = Index(None)
    old, middle, end = _row([1]), _row([1, 2], 1), _row([1, 2, 3], 2)
    other = _row([9])
    foreign = block([5], namespace=b"f" * 32)
    index.add([old, middle, end], used_at=1.0)
    index.add([other], used_at=2.0)
    index.add([Row(foreign, foreign.id, 10)], used_at=3.0)
    assert [row.id for row in index.leaves(5)] == [end.id, other.id, foreign.id]
    assert [row.id for row in index.leaves(5, [b"f" * 32])] == [foreign.id]
    index.remove([end.id])
    assert index.leaves(1) == [middle]
    index.close()


def test_what_no_session_needs_is_released() -> None:
    """Blocks of two sessions stay until both are gone; a block of nobody goes at once."""
    index = Index(None)
    shared, own, nobodys = _row([1]), _row([2]), _row([3])
    index.add([shared, own, nobodys])
    index.use("a", [shared.id, own.id])
    index.use("b", [shared.id, b"not there"])
    assert {row.id for row in index.release(["a"])} == {own.id, nobodys.id}
    index.remove([own.id, nobodys.id])
    assert index.release(["b"]) == [shared]
    index.close()


def test_days_add_up_and_namespaces_are_known() -> None:
    """Turns of one day are one row."""
    index = Index(None)
    index.count(Tally(turns=1, disk=5, saved_s=0.5))
    index.count(Tally(turns=1, disk=7, written_bytes=3))
    (tally,) = index.days().values()
    assert tally == Tally(turns=2, disk=12, saved_s=0.5, written_bytes=3)
    space = Space(namespace=NAMESPACE, library="l", model="m", path="p", read_per_s=2.0)
    index.know(space)
    assert index.space(NAMESPACE) == space
    assert index.space(b"x" * 32) is None
    assert index.per_space() == {}
    index.close()


def test_another_version_is_refused(tmp_path: Path) -> None:
    """What a newer program wrote is not guessed at."""
    path = tmp_path / "index.db"
    Index(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(sqlite3.DatabaseError, match="version 99"):
        Index(path)
