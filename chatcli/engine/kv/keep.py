"""Between one model's cells and the store: what is fetched before a turn, and kept of it.

::

    ids      |------- memory -------|--- disk ---|------- evaluated -------|-- reply --|
    blocks   |  256  |  256  |  90  |  256  |40  |  256  | 60 (prompt end) |   120     |

A block never starts anywhere but at another block's end, so a turn writes its own new tokens
and nothing else. Behind a sliding window cells are lost: there blocks are taken as soon as
they are evaluated, otherwise when the reply has been shown.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from chatcli.engine.cells import Cells
from chatcli.engine.kv.block import Block, Prefixes
from chatcli.engine.kv.checkpoint import keep, put_back, resumable
from chatcli.engine.kv.index import Row, Space, Tally
from chatcli.engine.kv.match import Match
from chatcli.engine.kv.restore import restore
from chatcli.engine.kv.store import Store

BLOCK_TOKENS = 256
WINDOW_BLOCK_TOKENS = 128
"""Behind a sliding window smaller blocks lose less where one agrees only in part."""
LEAST_TOKENS = 8
"""Fewer are left for the block that follows: a file for each would cost more than it brings."""
_BLOCK_S = 0.0005
"""What finding, opening and placing a block costs, whatever its size."""
_READ_PER_S = 1e9
"""Bytes read in a second, until it has been measured."""
_PREFILL_PER_S = 2000.0
"""Tokens evaluated in a second, until it has been measured: faster than most machines."""
_MEASURED_TOKENS = 32
_MEASURED_BYTES = 1 << 20
"""Smaller samples measure the overhead instead."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What need not be evaluated, in tokens, and the bytes that were read for it."""

    memory: int
    disk: int = 0
    n_bytes: int = 0
    notice: str = ""


def cuts(
    start: int, boundaries: Sequence[int], size: int, least: int = LEAST_TOKENS
) -> Iterator[int]:
    """Yield where blocks end that begin at `start`: every `size` tokens and at boundaries.

    A piece of fewer than `least` tokens is joined with what follows it.
    """
    for boundary in boundaries:
        while boundary - start >= size:
            start += size
            yield start
        if boundary - start >= least:
            start = boundary
            yield start


class Keeper:
    """Keeps what `cells` evaluate in `store`, and fetches from it."""

    def __init__(
        self, store: Store, cells: Cells, space: Space, *, most_cells: int = sys.maxsize
    ) -> None:
        """Serve `cells`, whose blocks belong to `space`.

        In a context of more than `most_cells` the cells would hold other numbers: nothing is
        fetched or kept then.
        """
        self._store = store
        self._cells = cells
        known = store.space(space.namespace)
        self._space = known if known and known.library == space.library else space
        self._most_cells = most_cells
        store.library = space.library
        self._chain: list[Row] = []
        self._used: list[Row] = []
        self._boundaries: list[int] = []
        self._fetched = Fetched(0)
        self._fetch_s = 0.0
        self._token_bytes = 0
        self._written = 0
        self._session = ""
        window = cells.model.n_swa
        self._sliding = window > 0
        self._hybrid = cells.model.hybrid
        self._size = min(WINDOW_BLOCK_TOKENS, window) if window else BLOCK_TOKENS

    def close(self) -> None:
        """Write what is queued."""
        self._store.close()

    @property
    def _active(self) -> bool:
        return self._cells.size <= self._most_cells

    # -- before --------------------------------------------------------------------------

    def fetch(self, session: str, ids: Sequence[int], n_memory: int) -> Fetched:
        """Put what is stored of `ids` behind the `n_memory` that are in the cells.

        At least one id is left to evaluate. Afterwards `cells.ids` says what is there.
        """
        self._session = session
        self._written, self._fetch_s = 0, 0.0
        self._boundaries, self._used = [], []
        self._chain = [row for row in self._chain if row.block.end <= n_memory]
        self._fetched = Fetched(n_memory)
        if self._active and n_memory < len(ids) - 1:
            began = time.perf_counter()
            self._fetched = self._fetch(ids, n_memory)
            self._fetch_s = time.perf_counter() - began
        self._store.pin(row.id for row in (*self._chain, *self._used))
        if self._active:
            self._set_mark()
        return self._fetched

    def _fetch(self, ids: Sequence[int], n_memory: int) -> Fetched:
        found, state = self._found(ids), None
        if self._hybrid:
            found, state = resumable(self._store, found, n_memory)
        missing = found.after(n_memory)
        if not missing.rows or not self._worth(found.end - n_memory, missing.n_bytes):
            self._chain = [row for row in found.rows if row.block.end <= n_memory]
            return Fetched(n_memory)
        kept = self._cells.keep(missing.rows[0].block.start)
        result = restore(self._store, self._cells, found.after(kept))
        if not self._cells.ids and found.whole is not found:
            # A sliding window that could not be cut where the last block parts from `ids`.
            result = restore(self._store, self._cells, found.whole)
        if state is not None:
            result.damaged = result.damaged or put_back(self._store, self._cells, state)
            result.n_bytes += state.bytes
        n = len(self._cells.ids)
        kept = min(kept, n)
        self._chain = [row for row in found.rows if row.block.end <= n]
        self._used = [row for row in found.rows if row.block.start < n < row.block.end]
        self._used += [state] if state is not None and n else []
        notice = ""
        if result.damaged:
            notice = f"Stored state was damaged ({result.damaged}): dropped, and evaluated anew"
        return Fetched(kept, n - kept, result.n_bytes, notice)

    def _found(self, ids: Sequence[int]) -> Match:
        """Find the way along the blocks, from the chain's end where that is still there."""
        chain = self._chain
        if chain and self._store.is_idle and not self._store.has(chain[-1].id):
            chain = []  # evicted by another process
        start = chain[-1].block.end if chain else 0
        found = self._store.match(self._space.namespace, ids[:-1], start)
        return Match((*chain, *found.rows), found.end)

    def _worth(self, n_tokens: int, n_bytes: int) -> bool:
        """Whether reading is faster than evaluating, by the rates of this machine."""
        prefill = self._space.prefill_per_s or _PREFILL_PER_S
        read = self._space.read_per_s or _READ_PER_S
        return n_tokens / prefill > _BLOCK_S + n_bytes / read

    # -- after ---------------------------------------------------------------------------

    def boundary(self) -> None:
        """Note that the prompt ends here, and the reply begins."""
        if self._hybrid:
            return  # there is no going on from here: a state is kept at the end alone
        self._boundaries.append(len(self._cells.ids))
        if self._sliding:
            self._keep(self._boundaries)

    def finish(self, n_sound: int, n_evaluated: int, prefill_s: float) -> int:
        """Keep what is new of the first `n_sound` ids; return the bytes that will be written.

        `n_evaluated` tokens of the prompt took `prefill_s`.
        """
        self._cells.mark = sys.maxsize
        self._measure(n_evaluated, prefill_s)
        self._boundaries.append(min(n_sound, len(self._cells.ids)))
        self._keep(self._boundaries)
        if self._hybrid and self._chain and self._active:
            self._keep_state(self._chain[-1].block)
        fetched = self._fetched
        prefill = self._space.prefill_per_s or _PREFILL_PER_S
        tally = Tally(
            turns=1,
            memory=fetched.memory,
            disk=fetched.disk,
            evaluated=n_evaluated,
            read_bytes=fetched.n_bytes,
            written_bytes=self._written,
            saved_s=max(0.0, fetched.disk / prefill - self._fetch_s) if fetched.disk else 0.0,
        )
        rows = (*self._chain, *self._used)
        self._store.note(self._session, [row.id for row in rows], tally, self._space)
        return self._written

    def _measure(self, n_evaluated: int, prefill_s: float) -> None:
        """Follow this machine's rates, half way at each sample."""
        space = self._space
        if n_evaluated >= _MEASURED_TOKENS and prefill_s > 0:
            rate = _half_way(space.prefill_per_s, n_evaluated / prefill_s)
            space = replace(space, prefill_per_s=rate)
        if self._fetched.n_bytes >= _MEASURED_BYTES and self._fetch_s > 0:
            rate = _half_way(space.read_per_s, self._fetched.n_bytes / self._fetch_s)
            space = replace(space, read_per_s=rate)
        self._space = space

    @property
    def _end(self) -> int:
        return self._chain[-1].block.end if self._chain else 0

    def _set_mark(self) -> None:
        self._cells.passed = self._keep_full
        self._cells.mark = self._end + self._size if self._sliding else sys.maxsize

    def _keep_full(self) -> None:
        """Keep the full blocks behind a sliding window before their cells are lost."""
        n = len(self._cells.ids) - self._end
        self._keep([self._end + n // self._size * self._size])

    def _keep(self, boundaries: Sequence[int]) -> None:
        self._cells.mark = sys.maxsize
        ends = [end for end in boundaries if end > self._end]
        if not self._active or not ends:
            return
        prefixes = Prefixes(self._space.namespace, self._cells.ids)
        least = 1 if self._hybrid else LEAST_TOKENS
        for end in cuts(self._end, ends, self._size, least):
            row = self._kept(self._end, end, prefixes)
            if row is None:
                return
            self._chain.append(row)
        self._set_mark()

    def _kept(self, start: int, end: int, prefixes: Prefixes) -> Row | None:
        """Hand one block to the writer; None where it is not worth it, or not whole."""
        if not self._worth(end - start, (end - start) * self._token_bytes):
            return None
        block = Block(
            self._space.namespace,
            prefixes.key(start),
            prefixes.key(end),
            start,
            tuple(self._cells.ids[start:end]),
        )
        name = block.id
        if self._store.has(name):
            return Row(block, name, 0)
        data = self._cells.copy_out(start, end)
        if data is None:
            return None
        self._token_bytes = len(data) // (end - start)
        n_bytes = self._store.put(block, data)
        self._written += n_bytes
        return Row(block, name, n_bytes)

    def _keep_state(self, last: Block) -> None:
        row = keep(self._store, self._cells, last)
        if row is not None:
            self._used.append(row)
            self._written += row.bytes


def _half_way(old: float, new: float) -> float:
    return (old + new) / 2 if old else new
