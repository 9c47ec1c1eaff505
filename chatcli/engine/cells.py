"""The memory cells of one model: what is in them, how much room there is, and growing it.

Position `i` of the context holds `ids[i]`. The context starts small and grows with the
chat: the state is read out, a larger context is made, and the state is put back, bit-equal.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chatcli.core.errors import LoadError
from chatcli.engine.binding import Model
from chatcli.engine.context import Context

PADDING = 256
"""llama.cpp rounds contexts up to this many cells."""
FIRST_CELLS = 1024
"""Smallest context: making it costs 16-83 ms here, against 108-353 ms for 8,192 cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOptions:
    """How contexts are made. `limit`: the most cells ever; `fixed`: all of them at once."""

    limit: int
    fixed: bool = False
    batch: int = 512
    threads: int = 1
    kv_type: str = "f16"
    flash_attention: str = "auto"


class Cells:
    """The context of `model`, made at the first use.

    `passed` is called when evaluation has come to `mark` tokens or further.
    """

    def __init__(self, model: Model, options: CellOptions) -> None:
        self.model = model
        self.options = options
        self._context: Context | None = None
        self.ids: list[int] = []
        self.mark = sys.maxsize
        self.passed: Callable[[], None] = _nothing

    @property
    def context(self) -> Context:
        """The context in use now; growing replaces it."""
        if self._context is None:
            self._context = self._make(self.options.limit if self.options.fixed else FIRST_CELLS)
        return self._context

    @property
    def size(self) -> int:
        """Cells allocated now, 0 before the first use."""
        return self._context.n_ctx if self._context is not None else 0

    def close(self) -> None:
        """Free the context."""
        if self._context is not None:
            self._context.close()
            self._context = None
        self.ids = []

    def make_room(self, n: int) -> None:
        """Make sure that there are at least `n` cells.

        Raises:
            LoadError: `n` is over the limit, or memory is short; what there was is kept.
        """
        limit = self.options.limit
        if n > limit:
            raise LoadError(f"{n:,} tokens do not fit a context of {limit:,}")
        if n <= self.size:
            return
        wanted = limit if self.options.fixed else min(_padded(max(n, 2 * self.size)), limit)
        wanted = max(wanted, min(FIRST_CELLS, limit))
        if self._context is None:
            self._context = self._make(wanted)
        else:
            self._grow(wanted)

    def _make(self, n_ctx: int) -> Context:
        o = self.options
        return Context(
            self.model,
            n_ctx,
            n_batch=min(o.batch, n_ctx),
            threads=o.threads,
            kv_type=o.kv_type,
            flash_attention=o.flash_attention,
            n_seq_max=2,
        )

    def _grow(self, n_ctx: int) -> None:
        old = self.context
        size = old.n_ctx
        state = old.save() if self.ids else bytearray()
        old.close()  # first: both at once could be more than there is
        self._context = None
        try:
            self._context = self._make(n_ctx)
        except LoadError:
            self._context = self._make(size)
            self._put_back(state)
            raise
        self._put_back(state)

    def _put_back(self, state: bytearray) -> None:
        if self.ids and not (state and self.context.restore(state)):
            self.ids = []

    def take(self, ids: Sequence[int]) -> int:
        """Keep the longest usable prefix of `ids` in memory, drop the rest; return its length.

        At most ``len(ids) - 1``: the last id is always evaluated, for its logits.
        """
        return self.keep(min(common_prefix(self.ids, ids), len(ids) - 1))

    def keep(self, n: int) -> int:
        """Forget all but the first `n` ids; return how many are left: `n`, or none."""
        if n < len(self.ids) and not self._cut(n):
            n = 0
            self.context.clear()
        self.ids = self.ids[:n]
        return n

    def _cut(self, n: int) -> bool:
        """Forget positions >= `n`; False where what is left could not be continued."""
        context = self.context
        if n == 0 or not context.cut(n):
            return False
        # Behind a sliding window older cells are gone: a cut is only sound if the window
        # before it is whole. llama.cpp does not refuse such a cut; it would answer wrongly.
        window = self.model.n_swa
        return not window or 0 <= context.first <= max(0, n - window)

    def step(self, token: int) -> int:
        """Evaluate one id behind the last; return llama_decode's code."""
        code = self.context.step(token, len(self.ids))
        if code == 0:
            self.ids.append(token)
            if len(self.ids) >= self.mark:
                self.passed()
        return code

    def extend(self, ids: Sequence[int], *, logits: bool) -> int:
        """Evaluate at most a batch of ids behind the last; return llama_decode's code.

        After an abort or an error `ids` says what is really in memory.
        """
        code = self.context.evaluate(ids, len(self.ids), logits=logits)
        self.ids += ids
        if code != 0:
            self.ids = self.ids[: self.context.length]
        elif len(self.ids) >= self.mark:
            self.passed()
        return code

    def copy_out(self, start: int, end: int) -> bytearray | None:
        """Return the state of the ids `start`...`end` - 1; None if it is not whole."""
        return self.context.copy_out(start, end)

    def copy_in(self, ids: Sequence[int], data: memoryview) -> bool:
        """Take over the state of ids behind the last; False if it is not theirs."""
        start = len(self.ids)
        if not self.context.copy_in(data, start, start + len(ids)):
            return False
        self.ids += ids
        return True

    def reset(self) -> None:
        """Forget everything (after an error)."""
        self.context.clear()
        self.ids = []


def _nothing() -> None:
    """Do nothing when no mark is set."""


def _padded(n: int) -> int:
    return -(-n // PADDING) * PADDING


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many ids two sequences have in common at their start."""
    n = min(len(a), len(b))
    if a[:n] == b[:n]:
        return n
    low, high = 0, n  # a[:low] == b[:low], a[:high] != b[:high]
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low
