"""The longest way along stored blocks that some tokens can take. Pure, over an index."""

from collections.abc import Sequence
from dataclasses import dataclass

from chatcli.engine.kv.block import MAX_TOKENS, Prefixes
from chatcli.engine.kv.index import Index, Row, ordered


@dataclass(frozen=True, slots=True)
class Match:
    """Blocks that follow one another from the first token, and how many tokens they cover.

    The last block may agree only in part: then `end` lies inside it.
    """

    rows: tuple[Row, ...] = ()
    end: int = 0

    @property
    def n_bytes(self) -> int:
        """Bytes of all the files."""
        return sum(row.bytes for row in self.rows)

    def after(self, n: int) -> "Match":
        """Return the part behind the first `n` tokens: blocks that end later than that."""
        return Match(tuple(row for row in self.rows if row.block.end > n), self.end)

    @property
    def whole(self) -> "Match":
        """The same without a last block that agrees only in part."""
        if not self.rows or self.rows[-1].block.end <= self.end:
            return self
        return Match(self.rows[:-1], self.rows[-1].block.start)


def match(index: Index, namespace: bytes, ids: Sequence[int], start: int = 0) -> Match:
    """Find the blocks that cover the most of `ids`, from `start` on.

    From each position that whole blocks lead to, the block that agrees the furthest is a
    candidate, and every block that agrees wholly leads on. A position stands for one prefix
    however it was cut, so each is looked at once.
    """
    prefixes, wanted = Prefixes(namespace, ids), ordered(ids)
    led: dict[int, Row] = {}
    best, last = start, None
    todo = [start]
    while todo:
        at = todo.pop()
        key, rest = prefixes.key(at), wanted[4 * at : 4 * (at + MAX_TOKENS)]
        near = index.nearest(key, rest)
        if near is None:
            continue
        if at + near[1] > best:
            best, last = at + near[1], near[0]
        for row in reversed(index.whole(key, rest)):
            end = at + len(row.block.tokens)
            if end not in led:
                led[end] = row
                todo.append(end)
    return Match(_way(last, led), best)


def _way(last: Row | None, led: dict[int, Row]) -> tuple[Row, ...]:
    rows = []
    while last is not None:
        rows.append(last)
        last = led.get(last.block.start)
    return tuple(reversed(rows))
