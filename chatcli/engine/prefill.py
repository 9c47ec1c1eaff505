"""Evaluating a prompt: in chunks, with progress, and stopped at once when the user says so."""

from collections.abc import Iterator, Sequence

from chatcli.core.cancel import Cancel
from chatcli.core.errors import LoadError
from chatcli.engine.cells import Cells
from chatcli.engine.context import ABORTED


def prefill(cells: Cells, ids: Sequence[int], cancel: Cancel) -> Iterator[tuple[int, int]]:
    """Evaluate what of `ids` is not in memory yet; yield (done, total) after each chunk.

    Ends early when cancelled: `cells.ids` then says how far it came. Otherwise the last
    id's logits are ready afterwards.

    Raises:
        LoadError: llama.cpp failed; the memory is cleared.
    """
    start = len(cells.ids)
    total = len(ids) - start
    context = cells.context
    context.abort_when(lambda: bool(cancel))
    try:
        for begin in range(start, len(ids), context.n_batch):
            if cancel:
                return
            chunk = ids[begin : begin + context.n_batch]
            code = cells.extend(chunk, logits=begin + len(chunk) == len(ids))
            if code == ABORTED:
                return
            check(cells, code)
            yield begin + len(chunk) - start, total
    finally:
        context.abort_when(None)


def check(cells: Cells, code: int) -> None:
    """Turn a code of `llama_decode` other than 0 into an error."""
    if code != 0:
        cells.reset()
        raise LoadError(
            f"llama.cpp could not evaluate the prompt (code {code})",
            "See llama.log under the state folder; `chatcli doctor` checks the library",
        )
