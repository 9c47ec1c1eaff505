"""The token loop: draw, show, evaluate; and why it ends.

Knows ids, text filters and limits. Does not know messages, templates or what a session is.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from chatcli.core.cancel import Cancel
from chatcli.core.errors import LoadError
from chatcli.core.event import Delta
from chatcli.core.session import FinishReason
from chatcli.engine.binding import Model
from chatcli.engine.cells import Cells
from chatcli.engine.constrain import Drawer
from chatcli.engine.prefill import check
from chatcli.engine.text import LoopDetector, Reply
from chatcli.engine.think import FAMILIES

LANDING = 64
"""Tokens before the limit at which a constrained output is brought to its end."""

_MARKERS = frozenset(
    marker.encode()
    for family in FAMILIES
    for marker in (*family.opening, *family.closing, *family.skipped, family.header)
    if marker
)


@dataclass(slots=True)
class Progress:
    """Where a loop stands; the caller reads it when the loop has ended.

    `ids` are the tokens said, without an end-of-generation token, cut back to those whose
    text was shown. `first_token_at` is in `time.perf_counter` seconds.
    """

    finish: FinishReason = "length"
    ids: list[int] = field(default_factory=list)
    drawn: int = 0
    first_token_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a reply ends by itself; a `constrained` one is brought to its end instead."""

    max_tokens: int
    stop_loops: bool = True
    constrained: bool = False


def stream(
    cells: Cells,
    drawer: Drawer,
    reply: Reply,
    limits: Limits,
    cancel: Cancel,
    progress: Progress,
) -> Iterator[Delta]:
    """Yield the reply's deltas; the logits of the last token in memory must be ready.

    A token is shown before the next is evaluated, so that the user never waits for a step
    that brings nothing. The last token of a reply that did not end by itself is not
    evaluated: the next turn does it, together with what follows.
    """
    loops = LoopDetector() if limits.stop_loops else None
    landing_at = limits.max_tokens - max(LANDING, limits.max_tokens // 4)
    model = cells.model
    while True:
        if cancel:
            progress.finish = "cancelled"
            break
        if limits.constrained and progress.drawn >= landing_at:
            drawer.landing = True
        token = drawer.draw(cells.context)
        if progress.drawn == 0:
            progress.first_token_at = time.perf_counter()
        if model.is_eog(token):
            progress.finish = "stop"
            break
        progress.drawn += 1
        yield from reply.feed(token, _shown_piece(model, token))
        if reply.matched is not None:
            progress.finish = "stop"
            break
        if loops is not None and loops.feed(token):
            if not limits.constrained:
                progress.finish = "loop"
                break
            drawer.landing = True
        if progress.drawn >= limits.max_tokens or not _has_room(cells):
            break
        check(cells, cells.step(token))
    yield from reply.flush()
    progress.ids = reply.ids[: reply.kept]


def _has_room(cells: Cells) -> bool:
    """Make room for one more token; False at the limit of the context or of memory."""
    try:
        cells.make_room(len(cells.ids) + 1)
    except LoadError:
        return False
    return True


def _shown_piece(model: Model, token: int) -> bytes:
    """Return the token's bytes; control tokens are not text, unless they mark reasoning."""
    piece = model.piece(token)
    if model.is_control(token) and piece not in _MARKERS:
        return b""
    return piece
