"""Cases that compare the engine with the bare loop, in one process and one context."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from chatcli.bench.measure import BenchError, in_turn, repeated
from chatcli.bench.result import Bar, Result
from chatcli.bench.rig import Rig
from chatcli.bench.subject import Subject
from chatcli.core.cancel import Cancel
from chatcli.core.event import Delta, Finished
from chatcli.core.ids import new_id
from chatcli.core.message import user
from chatcli.core.session import Turn
from chatcli.engine.facade import LlamaEngine
from chatcli.orchestrator.conversation import Conversation, Style
from chatcli.orchestrator.turn import Ports
from chatcli.sessions.sqlite import SqliteStore
from chatcli.sessions.titles import title_from

DECODE_RATIO = 0.97
PREFILL_RATIO = 0.98
"""Of the bare loop's speed: what drawing, text, events and records may take is the rest."""
WARM_REPLY = 8
"""Tokens of each reply of the warm chat: enough to be a chat, few enough to stay shallow."""


# -- prefill and decode ------------------------------------------------------------------


def prefill(subject: Subject) -> Iterator[Result]:
    """Compare the evaluation of a prompt, at each depth."""
    rig, effort = subject.rig, subject.effort
    for depth in _depths(subject, effort.n_prefill):
        scene = rig.prefill_scene(depth, effort.n_prefill)
        n = len(scene.ids) - scene.depth
        ours, raw = in_turn(
            effort.pairs,
            lambda s=scene, n=n: n / rig.engine_prefill_s(s),  # type: ignore[misc]
            lambda s=scene, n=n: n / rig.raw_prefill_s(s),  # type: ignore[misc]
            tick=subject.ticker(f"prefill at {depth:,}"),
        )
        subject.raw_found["prefill", depth] = raw
        yield _speed(subject, "prefill", depth, ours, raw, Bar("ratio", PREFILL_RATIO), n)


def decode(subject: Subject) -> Iterator[Result]:
    """Compare the making of a reply, at each depth."""
    rig, effort = subject.rig, subject.effort
    for depth in _depths(subject, effort.n_decode):
        scene, said = rig.decode_scene(depth, effort.n_decode)
        n = len(said)
        ours, raw = in_turn(
            effort.pairs,
            lambda s=scene, t=said: len(t) / rig.engine_decode_s(s, t),  # type: ignore[misc]
            lambda s=scene, t=said: len(t) / rig.raw_decode_s(s, t),  # type: ignore[misc]
            tick=subject.ticker(f"decode at {depth:,}"),
        )
        subject.raw_found["decode", depth] = raw
        yield _speed(subject, "decode", depth, ours, raw, Bar("ratio", DECODE_RATIO), n)


def _depths(subject: Subject, n_tokens: int) -> list[int]:
    """Return the depths that the model's context has room for."""
    limit = subject.rig.engine.context_limit
    room = [depth for depth in subject.effort.depths if depth + 2 * n_tokens + 256 <= limit]
    for depth in subject.effort.depths:
        if depth not in room:
            subject.say(f"{subject.name}: no room for a depth of {depth:,} in {limit:,} tokens")
    return room


def _speed(
    subject: Subject,
    case: str,
    depth: int,
    ours: tuple[float, ...],
    raw: tuple[float, ...],
    bar: Bar,
    n_tokens: int,
) -> Result:
    return Result(
        case=case,
        model=subject.name,
        what=f"depth {depth:,}",
        unit="tokens/s",
        ours=ours,
        against="raw",
        other=raw,
        bar=bar,
        facts=(("tokens", n_tokens),),
    )


def raw(subject: Subject) -> Iterator[Result]:
    """Report the bare loop alone: what it reached beside the engine, or measured now."""
    rig, effort = subject.rig, subject.effort
    for depth in _depths(subject, effort.n_prefill):
        tick = subject.ticker(f"raw at {depth:,}")
        rates = subject.raw_found.get(("prefill", depth))
        if rates is None:
            scene = rig.prefill_scene(depth, effort.n_prefill)
            rest = len(scene.ids) - scene.depth
            once = lambda s=scene, n=rest: n / rig.raw_prefill_s(s)  # noqa: E731
            rates = repeated(effort.pairs, once, tick=tick)
        yield _raw_result(subject, f"prefill, depth {depth:,}", rates)
        rates = subject.raw_found.get(("decode", depth))
        if rates is None:
            scene, said = rig.decode_scene(depth, effort.n_decode)
            again = lambda s=scene, t=said: len(t) / rig.raw_decode_s(s, t)  # noqa: E731
            rates = repeated(effort.pairs, again, tick=tick)
        yield _raw_result(subject, f"decode, depth {depth:,}", rates)


def _raw_result(subject: Subject, what: str, rates: tuple[float, ...]) -> Result:
    return Result(case="raw", model=subject.name, what=what, unit="tokens/s", ours=rates)


# -- a warm chat -------------------------------------------------------------------------


class _Loaded:
    """The `EngineSource` of one engine."""

    def __init__(self, engine: LlamaEngine) -> None:
        self._engine = engine

    def engine(self, model: str) -> LlamaEngine:
        """Return the one engine, whatever it is asked for."""
        del model
        return self._engine


class _Chat:
    """A chat in a store on disk, several turns long; each turn is timed to its first text."""

    def __init__(self, rig: Rig, store: SqliteStore) -> None:
        self._rig = rig
        ports = Ports(engines=_Loaded(rig.engine), store=store, now=time.time, new_id=new_id)
        self._conversation = Conversation(ports, Style(max_tokens=WARM_REPLY), title_from)
        self._conversation.start(model=rig.engine.model)
        self._n_turns = 0
        self.turn: Turn | None = None

    def close(self) -> None:
        """Let go of the session."""
        self._conversation.close()

    def first_token_s(self) -> float:
        """Ask the next question; return the seconds to the first text of the reply."""
        self._n_turns += 1
        question = user(f"And what happened on day {self._n_turns}?")
        first = 0.0
        began = time.perf_counter()
        for event in self._conversation.ask(question, Cancel()):
            if isinstance(event, Delta):
                first = first or time.perf_counter() - began
            elif isinstance(event, Finished):
                self.turn = event.turn
                first = first or time.perf_counter() - began  # an empty reply
        return first

    def raw_s(self) -> float:
        """Return the seconds that the bare loop takes for the last turn's new tokens."""
        if self.turn is None:
            raise BenchError("nothing was asked yet")
        usage = self.turn.usage
        return self._rig.raw_again_s(usage.reused_memory, usage.prompt)


def warm(subject: Subject) -> Iterator[Result]:
    """Time a turn of a chat in progress to its first text, beside the bare evaluation."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="chatcli-bench-"))
        store = stack.enter_context(SqliteStore(Path(folder) / "sessions.db"))
        chat = _Chat(subject.rig, store)
        stack.callback(chat.close)
        for _ in range(3):
            chat.first_token_s()
        pairs, tick = subject.effort.pairs, subject.ticker("warm")
        ours, bare = in_turn(pairs, chat.first_token_s, chat.raw_s, tick=tick)
    usage = chat.turn.usage if chat.turn else None
    facts = (("evaluated", usage.evaluated), ("reused", usage.reused_memory)) if usage else ()
    yield Result(
        case="warm",
        model=subject.name,
        what="to first token",
        unit="s",
        ours=ours,
        against="raw",
        other=bare,
        facts=facts,
    )
