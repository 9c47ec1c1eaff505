"""One model's cells with a keeper beside them, driven by token ids alone."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chatcli.engine.binding import Model
from chatcli.engine.cells import CellOptions, Cells
from chatcli.engine.kv.index import Space
from chatcli.engine.kv.keep import Fetched, Keeper
from chatcli.engine.kv.store import open_disk
from tests.engine.kv.made import NAMESPACE

OPTIONS = CellOptions(limit=4096)


class Side:
    """An engine of ids: what it evaluates is forced, one id at a time.

    One at a time, so that every way to the same ids has the same batch schedule: then a
    difference in a single bit of a logit is a fault of what was restored.
    """

    def __init__(
        self, model: Model, folder: Path | None, *, size: int = 0, options: CellOptions = OPTIONS
    ) -> None:
        self.cells = Cells(model, options)
        self.cells.make_room(1)
        self.keeper: Keeper | None = None
        if folder is not None:
            space = Space(namespace=NAMESPACE, library="lib", path="/")
            self.keeper = Keeper(open_disk(folder), self.cells, space)
            self.keeper._size = size or self.keeper._size
        self.fetched = Fetched(0)
        self.evaluated = 0
        self.written = 0

    def turn(self, prompt: Sequence[int], reply: Sequence[int] = (), session: str = "s") -> None:
        """Evaluate a prompt and a reply, as far as they are not in memory or on disk."""
        cells, keeper = self.cells, self.keeper
        cells.make_room(len(prompt) + 1)
        n_memory = cells.take(prompt)
        self.fetched = keeper.fetch(session, prompt, n_memory) if keeper else Fetched(n_memory)
        assert self.fetched.memory + self.fetched.disk == len(cells.ids)
        assert cells.ids == list(prompt[: len(cells.ids)])
        self.evaluated = len(prompt) - len(cells.ids)
        self._step(prompt[len(cells.ids) :])
        if keeper:
            keeper.boundary()
        self._step(reply)
        if keeper:
            self.written = keeper.finish(len(prompt) + len(reply), self.evaluated, 0.0)

    def _step(self, ids: Sequence[int]) -> None:
        for token in ids:
            self.cells.make_room(len(self.cells.ids) + 1)
            assert self.cells.step(token) == 0

    @property
    def logits(self) -> NDArray[np.float32]:
        """The logits of the last id."""
        return self.cells.context.logits(self.cells.model.n_vocab).copy()

    def close(self) -> None:
        """Write what is queued, and free the cells."""
        if self.keeper:
            self.keeper.close()
        self.cells.close()


def recomputed(model: Model, ids: Sequence[int], options: CellOptions = OPTIONS) -> Side:
    """Evaluate `ids` without any store."""
    side = Side(model, None, options=options)
    side.turn(ids)
    return side


def words(seed: int, n: int) -> list[int]:
    """Return `n` ids that only this seed has."""
    return [int(i) for i in np.random.default_rng(seed).integers(5, 250, n)]
