"""The way along stored blocks is the longest there is."""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.engine.kv.block import Block
from chatcli.engine.kv.index import Index, Row
from chatcli.engine.kv.match import Match, match
from tests.engine.kv.made import NAMESPACE, block, chain

_IDS = st.lists(st.integers(0, 1), min_size=1, max_size=14)
_CUTS = st.lists(st.integers(1, 5), min_size=1, max_size=6)


def _chain(ids: list[int], sizes: list[int]) -> Iterator[Block]:
    at = 0
    for size in sizes:
        if at < len(ids):
            end = min(at + size, len(ids))
            yield block(ids[:end], at)
            at = end


def _longest(blocks: list[Block], ids: list[int]) -> int:
    """Look at every way, one token after the other."""
    best, ends = 0, {0}
    while ends:
        at = ends.pop()
        for one in blocks:
            n = 0
            if one.start == at and one.parent == block(ids[: at + 1], at).parent:
                while n < len(one.tokens) and ids[at + n : at + n + 1] == [one.tokens[n]]:
                    n += 1
                best = max(best, at + n)
                if n == len(one.tokens) and at + n < len(ids):
                    ends.add(at + n)
    return best


@settings(deadline=None)
@given(st.lists(st.tuples(_IDS, _CUTS), max_size=6), _IDS)
def test_no_way_is_longer(chats: list[tuple[list[int], list[int]]], ids: list[int]) -> None:
    """However chats were cut into blocks, the match covers the most tokens, without a gap."""
    blocks = [one for said, sizes in chats for one in _chain(said, sizes)]
    index = Index(None)
    index.add([Row(one, one.id, 10) for one in blocks])
    found = match(index, NAMESPACE, ids)
    assert found.end == _longest(blocks, ids)
    at = 0
    for row in found.rows:
        assert row.block.start == at
        n = min(row.block.end, found.end) - at
        assert list(row.block.tokens[:n]) == ids[at : at + n]
        at = row.block.end
    assert found.end <= at or not found.rows
    index.close()


def test_another_namespace_does_not_match() -> None:
    """The same tokens of another model are other blocks."""
    index = Index(None)
    index.add([Row(one, one.id, 10) for one in chain([1, 2, 3], 2, 3)])
    assert match(index, b"x" * 32, [1, 2, 3]) == Match()
    assert match(index, NAMESPACE, [1, 2, 3]).end == 3
    index.close()


def test_a_match_can_be_cut() -> None:
    """What is in memory is left out, and so is a last block that agrees only in part."""
    rows = tuple(Row(one, one.id, 10) for one in chain([1, 2, 3, 4, 5], 2, 4, 5))
    found = Match(rows, 5)
    assert found.whole is found
    assert found.after(2) == Match(rows[1:], 5)
    assert found.after(3) == Match(rows[1:], 5)
    assert found.after(5) == Match((), 5)
    assert Match(rows[:2], 3).whole == Match(rows[:1], 2)
    assert found.n_bytes == 30
