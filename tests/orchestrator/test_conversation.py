"""A conversation is a tree of turns, and nothing in it is ever overwritten."""

import itertools
from collections.abc import Iterator

import pytest

from chatcli.core.cancel import Cancel
from chatcli.core.errors import ContextOverflow, UsageError
from chatcli.core.event import Delta, Event, Finished, Notice
from chatcli.core.message import user
from chatcli.core.session import Turn
from chatcli.orchestrator.conversation import Conversation, Style
from chatcli.orchestrator.turn import Ports
from chatcli.testing import MemoryStore, ScriptedEngine


def _conversation(
    engine: ScriptedEngine, store: MemoryStore | None = None, style: Style | None = None
) -> Conversation:
    ids = itertools.count(1000)
    clock = itertools.count(1)
    ports = Ports(
        engines=engine,
        store=store or MemoryStore(),
        now=lambda: float(next(clock)),
        new_id=lambda: f"id{next(ids)}",
    )
    conversation = Conversation(ports, style or Style(), lambda text: text[:10])
    conversation.start(model="scripted")
    return conversation


def _finish(events: Iterator[Event]) -> Turn:
    *_, last = events
    assert isinstance(last, Finished)
    return last.turn


def test_a_turn_follows_the_one_before_and_reuses_its_tokens() -> None:
    """The second turn's record keeps all of the first."""
    conversation = _conversation(ScriptedEngine([["one"], ["two"]]))
    first = _finish(conversation.ask(user("a"), Cancel()))
    second = _finish(conversation.ask(user("b"), Cancel()))
    assert second.parent == first.id
    (record,) = first.tokens.values()
    (after,) = second.tokens.values()
    assert after.keep == len(record.prompt) + len(record.reply)
    assert second.usage.reused_memory == after.keep
    assert [t.id for t in conversation.path()] == [first.id, second.id]


def test_regenerate_and_edit_make_siblings() -> None:
    """The old reply stays in the tree; the head is on the new one."""
    conversation = _conversation(ScriptedEngine([["one"], ["two"], ["three"]]))
    first = _finish(conversation.ask(user("a"), Cancel()))
    again = _finish(conversation.regenerate(Cancel()))
    edited = _finish(conversation.edit(user("b"), Cancel()))
    assert first.parent is again.parent is edited.parent is None
    assert [t.reply.text for t in conversation.turns()] == ["one", "two", "three"]
    assert conversation.current().id == edited.id


def test_undo_steps_back_and_keeps_the_turn() -> None:
    """After undo the next question follows the turn before."""
    conversation = _conversation(ScriptedEngine())
    first = _finish(conversation.ask(user("a"), Cancel()))
    second = _finish(conversation.ask(user("b"), Cancel()))
    assert [t.id for t in conversation.undo()] == [second.id]
    third = _finish(conversation.ask(user("c"), Cancel()))
    assert third.parent == first.id
    assert len(conversation.turns()) == 3
    conversation.go(second)
    assert conversation.current().id == second.id
    assert len(conversation.undo(5)) == 2
    with pytest.raises(UsageError, match="nothing to undo"):
        conversation.undo()


def test_a_fork_leaves_the_original_alone() -> None:
    """Both sessions go on independently."""
    store = MemoryStore()
    conversation = _conversation(ScriptedEngine(), store)
    _finish(conversation.ask(user("a"), Cancel()))
    _finish(conversation.ask(user("b"), Cancel()))
    left = conversation.fork(conversation.find("1"))
    assert [t.asked[0].text for t in conversation.path()] == ["a"]
    _finish(conversation.ask(user("c"), Cancel()))
    assert [t.asked[0].text for t in store.turns(left.id)] == ["a", "b"]
    assert [t.asked[0].text for t in conversation.path()] == ["a", "c"]


def test_resume_goes_on_behind_the_reply() -> None:
    """The deltas say what is new; the kept reply is the whole."""
    conversation = _conversation(ScriptedEngine([["one", " two"], [" three"]]))
    conversation.style = Style(max_tokens=2)
    _finish(conversation.ask(user("a"), Cancel()))
    events = list(conversation.resume(Cancel()))
    assert [e.text for e in events if isinstance(e, Delta)] == [" three"]
    assert conversation.current().reply.text == "one two three"


def test_a_cancelled_reply_is_kept_as_far_as_it_was_shown() -> None:
    """Ctrl-C ends the turn by the normal door."""
    conversation = _conversation(ScriptedEngine([["Hello ", "world ", "never"]]))
    cancel = Cancel()
    shown = ""
    for event in conversation.ask(user("a"), cancel):
        if isinstance(event, Delta):
            shown += event.text
            if "world" in shown:
                cancel.set()
    turn = conversation.current()
    assert turn.finish == "cancelled"
    assert turn.reply.text == shown == "Hello world "


def test_an_overflow_is_an_error_that_counts_and_leaves_nothing() -> None:
    """Without a policy nothing is dropped, and no empty session is left behind."""
    store = MemoryStore()
    conversation = _conversation(ScriptedEngine(context=8), store)
    with pytest.raises(ContextOverflow, match="more than the 8 that fit"):
        list(conversation.ask(user("word " * 20), Cancel()))
    assert store.sessions() == []
    _finish(conversation.ask(user("ok"), Cancel()))
    assert len(store.sessions()) == 1


def test_drop_oldest_says_what_it_left_out_and_remembers_it() -> None:
    """The cut is announced, recorded in the turn, and holds for the turns after it."""
    engine = ScriptedEngine([["r1"], ["r2"], ["r3"], ["r4"]], context=18)
    conversation = _conversation(engine, style=Style(overflow="drop-oldest"))
    for text in ("a a a", "b b b"):
        _finish(conversation.ask(user(text), Cancel()))
    events = list(conversation.ask(user("c c c c"), Cancel()))
    notices = [e.text for e in events if isinstance(e, Notice)]
    assert len(notices) == 1
    assert "left out" in notices[0]
    assert [x.reply.text for x in engine.prompts[-1].history] == ["r2"]
    _finish(conversation.ask(user("d"), Cancel()))
    assert [x.reply.text for x in engine.prompts[-1].history] == ["r2", "r3"]
    assert len(conversation.path()) == 4


def test_summarise_puts_a_summary_in_the_place_of_old_turns() -> None:
    """The model's own summary stands in the system prompt from then on."""
    replies = [["r " * 300], ["r2"], ["they", " spoke"], ["r3"]]
    engine = ScriptedEngine(replies, context=600)
    conversation = _conversation(engine, style=Style(overflow="summarise"))
    _finish(conversation.ask(user("a"), Cancel()))
    _finish(conversation.ask(user("b"), Cancel()))
    _finish(conversation.ask(user("c " * 300), Cancel()))
    assert "they spoke" in engine.prompts[-1].system
    current = conversation.current()
    assert current.cut is not None
    assert current.cut.summary == "they spoke"


def test_a_turn_is_found_by_number_or_id() -> None:
    """Numbers count along the path."""
    conversation = _conversation(ScriptedEngine())
    first = _finish(conversation.ask(user("a"), Cancel()))
    second = _finish(conversation.ask(user("b"), Cancel()))
    assert conversation.find("1").id == first.id
    assert conversation.find(second.id).id == second.id
    with pytest.raises(UsageError, match="no turn matches '9'"):
        conversation.find("9")
