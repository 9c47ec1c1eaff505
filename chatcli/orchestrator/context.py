"""What goes into the context: the history of a turn, and what happens when it does not fit.

Nothing is dropped silently: without a policy an overflow is an error that says by how many
tokens; with one, the user is told what was left out, and the turn records it (`Turn.cut`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from chatcli.core.cancel import Cancel
from chatcli.core.errors import ContextOverflow
from chatcli.core.message import Message
from chatcli.core.ports import Engine, Exchange, Prompt
from chatcli.core.session import Cut, Fingerprint, Turn
from chatcli.orchestrator.compact import summarise, summary_block

Overflow = Literal["error", "summarise", "drop-oldest"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that fits, the cut that made it fit, and what to tell the user ("" if nothing)."""

    prompt: Prompt
    cut: Cut | None
    notice: str


def in_context(path: Sequence[Turn]) -> tuple[list[Turn], Cut | None]:
    """Return the turns of `path` that the latest cut leaves in the context, and that cut."""
    for index in range(len(path) - 1, -1, -1):
        cut = path[index].cut
        if cut is None:
            continue
        first = next((i for i, turn in enumerate(path) if turn.id == cut.before), index)
        return list(path[first:]), cut
    return list(path), None


def exchanges(turns: Sequence[Turn], model: Fingerprint) -> tuple[Exchange, ...]:
    """Return `turns` as the engine with this fingerprint needs them."""
    return tuple(Exchange(turn.asked, turn.reply, turn.tokens.get(model)) for turn in turns)


def _system(system: str, cut: Cut | None) -> str:
    if cut is None or not cut.summary:
        return system
    return f"{system}\n\n{summary_block(cut.summary)}".strip()


def compose(
    path: Sequence[Turn], asked: tuple[Message, ...], engine: Engine, base: Prompt
) -> Prompt:
    """Fill `base` with the question and the history that is in the context."""
    turns, cut = in_context(path)
    history = exchanges(turns, engine.fingerprint)
    return replace(base, asked=asked, history=history, system=_system(base.system, cut))


def overflow_error(prompt: int, limit: int) -> ContextOverflow:
    """Say by how much a prompt is too long, and what would fit."""
    return ContextOverflow(
        f"the input takes {prompt:,} tokens, {prompt - limit:,} more than the {limit:,} that fit",
        "Shorten it, choose a larger --ctx-size or another model,"
        " or use --overflow summarise|drop-oldest",
        needed=prompt,
        limit=limit,
    )


def fit(
    path: Sequence[Turn],
    prompt: Prompt,
    system: str,
    engine: Engine,
    overflow: Overflow,
    cancel: Cancel,
) -> Fitted:
    """Return `prompt` as it is if it fits, else what the user's policy makes of it.

    Raises:
        ContextOverflow: it does not fit, and the policy is "error" or cannot help.
    """
    measure = engine.measure(prompt)
    if measure.prompt <= measure.limit:
        return Fitted(prompt, None, "")
    if overflow == "error" or not prompt.history:
        raise overflow_error(measure.prompt, measure.limit)
    for skip in _candidates(len(prompt.history)):
        turns, _ = in_context(path)
        before = turns[skip].id if skip < len(turns) else None
        trial = replace(prompt, history=prompt.history[skip:], system=system)
        if overflow == "summarise":
            trial = replace(trial, system=_system(system, Cut(before, "x " * SUMMARY_TOKENS)))
        if engine.measure(trial).prompt > measure.limit:
            continue
        return _cut(turns, skip, trial, system, engine, overflow, cancel)
    raise overflow_error(measure.prompt, measure.limit)


SUMMARY_TOKENS = 200
"""Longest summary of older turns, in tokens: short enough to leave room, long enough to help."""


def _candidates(n: int) -> Iterator[int]:
    """Yield how many of `n` turns to leave out: at least a quarter, so that it lasts a while."""
    yield from range(max(1, n // 4), n + 1)


def _cut(
    turns: Sequence[Turn],
    skip: int,
    trial: Prompt,
    system: str,
    engine: Engine,
    overflow: Overflow,
    cancel: Cancel,
) -> Fitted:
    before = turns[skip].id if skip < len(turns) else None
    what = f"the oldest {skip} of {len(turns)} turns" if len(turns) > 1 else "the earlier turn"
    if overflow == "drop-oldest":
        cut = Cut(before)
        return Fitted(trial, cut, f"The context is full: {what} left out (--overflow drop-oldest)")
    summary = summarise(turns[:skip], engine, SUMMARY_TOKENS, cancel)
    cut = Cut(before, summary)
    fitted = replace(trial, system=_system(system, cut))
    return Fitted(fitted, cut, f"The context is full: {what} summarised (--overflow summarise)")
