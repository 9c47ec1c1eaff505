"""A turn is recorded before it is said to be finished, whatever happens in it."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.core.cancel import Cancel
from chatcli.core.errors import LoadError
from chatcli.core.event import Delta, EngineEvent, Event, Finished, Prefilled, Restored, Routed
from chatcli.core.message import user
from chatcli.core.ports import Prompt
from chatcli.core.session import Session, SessionId
from chatcli.orchestrator.turn import Ports, Request, run
from chatcli.testing import MemoryStore, ScriptedEngine


def _ports(engine: ScriptedEngine, store: MemoryStore) -> Ports:
    ids = itertools.count()
    return Ports(engines=engine, store=store, now=lambda: 1.0, new_id=lambda: f"t{next(ids)}")


def _session(store: MemoryStore) -> Session:
    session = Session(id=SessionId("s"), kind="chat", model="scripted", clock=0.0)
    store.create(session)
    return session


_PIECES = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=5),
        st.tuples(st.just("reasoning"), st.text(min_size=1, max_size=5)),
    ),
    max_size=8,
)


@given(pieces=_PIECES, stop_after=st.integers(0, 9))
def test_the_events_follow_the_grammar_and_the_reply_is_what_was_shown(
    pieces: list[str | tuple[str, str]], stop_after: int
) -> None:
    """Routed first, exactly one Finished and last, kept text equal to the shown text."""
    store = MemoryStore()
    session = _session(store)
    cancel = Cancel()
    seen: list[Event] = []
    request = Request(session=session, parent=None, asked=(user("q"),))
    engine = ScriptedEngine([pieces])  # type: ignore[list-item]  # tuples of literals
    for event in run(request, _ports(engine, store), cancel):
        seen.append(event)
        if sum(isinstance(e, Delta) for e in seen) > stop_after:
            cancel.set()
        if isinstance(event, Finished):
            assert store.turns(session.id) == [event.turn]
    assert isinstance(seen[0], Routed)
    assert [isinstance(event, Finished) for event in seen].index(True) == len(seen) - 1
    assert all(isinstance(e, Prefilled | Restored | Delta) for e in seen[1:-1])
    shown = [e for e in seen if isinstance(e, Delta)]
    last = seen[-1]
    assert isinstance(last, Finished)
    assert last.turn.reply.text == "".join(e.text for e in shown if e.kind == "text")
    assert last.turn.reply.reasoning == "".join(e.text for e in shown if e.kind == "reasoning")


class _Failing(ScriptedEngine):
    """Fails after some pieces."""

    def __init__(self, n: int) -> None:
        super().__init__([["one ", "two ", "three"]])
        self._n = n

    def generate(self, prompt: Prompt, cancel: Cancel) -> Iterator[EngineEvent]:
        """Say `n` pieces and fail."""
        said = 0
        for event in super().generate(prompt, cancel):
            if isinstance(event, Delta):
                if said == self._n:
                    raise LoadError("out of memory")
                said += 1
            yield event


def test_an_engine_that_fails_in_mid_reply_keeps_what_was_said() -> None:
    """The partial turn is kept as interrupted, and the error goes on."""
    store = MemoryStore()
    session = _session(store)
    request = Request(session=session, parent=None, asked=(user("q"),))
    with pytest.raises(LoadError):
        list(run(request, _ports(_Failing(2), store), Cancel()))
    (turn,) = store.turns(session.id)
    assert (turn.finish, turn.reply.text) == ("interrupted", "one two ")


def test_an_engine_that_fails_at_once_leaves_nothing() -> None:
    """A turn that said nothing is dropped."""
    store = MemoryStore()
    session = _session(store)
    request = Request(session=session, parent=None, asked=(user("q"),))
    with pytest.raises(LoadError):
        list(run(request, _ports(_Failing(0), store), Cancel()))
    assert store.turns(session.id) == []
