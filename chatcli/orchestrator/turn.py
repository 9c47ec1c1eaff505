"""Run one turn. Start reading here.

A turn is one iterator of events (`chatcli.core.event`): load the history, choose the
model, fit the context, generate, record, and only then say `Finished`. Stages that come
later (judging the input, routing by difficulty, retrieval, tools, screening the output)
are further iterators around `_generate`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from chatcli.core.cancel import Cancel
from chatcli.core.decision import Route
from chatcli.core.errors import ChatcliError
from chatcli.core.event import Delta, Event, Finished, Generated, Notice, Routed
from chatcli.core.message import Message, Part, Reasoning, Text
from chatcli.core.ports import (
    Constraint,
    Draft,
    Engine,
    EngineSource,
    Prompt,
    SessionStore,
)
from chatcli.core.sampling import Sampling
from chatcli.core.session import Session, Turn, TurnId
from chatcli.orchestrator.context import Overflow, compose, exchanges, fit


@dataclass(frozen=True, slots=True)
class Ports:
    """What a turn needs from the outside. `now` gives seconds since the epoch."""

    engines: EngineSource
    store: SessionStore
    now: Callable[[], float]
    new_id: Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to one session; `parent` is the turn that it follows.

    `resume` is a turn whose reply goes on: the new turn is its sibling and holds the
    whole reply.
    """

    session: Session
    parent: TurnId | None
    asked: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    constraint: Constraint | None = None
    overflow: Overflow = "error"
    resume: Turn | None = None


def run(request: Request, ports: Ports, cancel: Cancel) -> Iterator[Event]:
    """Yield what happens during the turn, ending with `Finished`.

    Raises:
        ChatcliError: nothing was said, and nothing is kept; or the engine failed in
            mid-reply, and what had been said is kept as an interrupted turn.
    """
    session = request.session
    path = ports.store.path(session.id, request.parent)
    engine = ports.engines.engine(session.model)
    route = Route(model=engine.model, rule="chosen")
    yield Routed(route)

    prompt = compose(path, request.asked, engine, _base(request, engine))
    fitted = fit(path, prompt, session.system, engine, request.overflow, cancel)
    if fitted.notice:
        yield Notice(fitted.notice)

    turn = Turn(
        id=TurnId(ports.new_id()),
        parent=request.parent,
        asked=request.asked,
        reply=Message("assistant", ()),
        route=route,
        finish="interrupted",
        started_at=ports.now(),
        cut=fitted.cut,
    )
    draft = ports.store.begin(session.id, turn)
    yield from _recorded(turn, fitted.prompt, engine, draft, cancel)


def _base(request: Request, engine: Engine) -> Prompt:
    session = request.session
    resume = request.resume
    return Prompt(
        asked=(),
        system=session.system,
        clock=session.clock,
        sampling=request.sampling.over(session.sampling),
        max_tokens=request.max_tokens,
        stop=request.stop,
        constraint=request.constraint,
        resume=None if resume is None else exchanges([resume], engine.fingerprint)[0],
        session=session.id,
    )


def _recorded(
    turn: Turn, prompt: Prompt, engine: Engine, draft: Draft, cancel: Cancel
) -> Iterator[Event]:
    """Generate, keeping each piece before it is shown, and the whole before it is finished."""
    parts: list[Part] = []
    if prompt.resume is not None:
        for part in prompt.resume.reply.parts:
            parts += _keep(draft, part)
    try:
        for event in engine.generate(prompt, cancel):
            match event:
                case Delta(kind, text):
                    parts += _keep(draft, Text(text) if kind == "text" else Reasoning(text))
                    yield event
                case Generated():
                    turn = _complete(turn, event)
                    draft.finish(turn)
                    yield Finished(turn)
                case _:
                    yield event
    except ChatcliError:
        _abandon(turn, draft, parts)
        raise


def _keep(draft: Draft, part: Part) -> list[Part]:
    match part:
        case Text(text):
            draft.append(Delta("text", text))
        case Reasoning(text):
            draft.append(Delta("reasoning", text))
        case _:
            return []
    return [part]


def _complete(turn: Turn, event: Generated) -> Turn:
    return replace(
        turn,
        reply=event.reply,
        finish=event.finish,
        usage=event.usage,
        tokens={event.fingerprint: event.record},
    )


def _abandon(turn: Turn, draft: Draft, parts: list[Part]) -> None:
    if parts:
        draft.finish(replace(turn, reply=Message("assistant", tuple(parts))))
    else:
        draft.discard()
