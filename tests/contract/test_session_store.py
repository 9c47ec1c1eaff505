"""What every session store promises; run on each implementation."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chatcli.core.errors import SessionNotFound
from chatcli.core.event import Delta
from chatcli.core.ports import SessionStore
from chatcli.core.session import Session, SessionId, Turn, TurnId
from chatcli.sessions.sqlite import SqliteStore
from chatcli.testing import MemoryStore
from tests.sessions.made import opened, samplings, session, turn
from tests.sessions.made import turns as any_turns


@contextmanager
def _sqlite(folder: Path) -> Iterator[SessionStore]:
    with SqliteStore(folder / "sessions.db") as store:
        yield store


@contextmanager
def _memory(folder: Path) -> Iterator[SessionStore]:
    del folder
    yield MemoryStore()


Maker = Callable[[Path], AbstractContextManager[SessionStore]]
STORES: dict[str, Maker] = {"sqlite": _sqlite, "memory": _memory}


@pytest.fixture(params=list(STORES.values()), ids=list(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionStore]:
    """A new, empty store of each kind."""
    make: Maker = request.param
    with make(tmp_path) as made:
        yield made


def _tell(store: SessionStore, session_id: SessionId, whole: Turn) -> Turn:
    draft = store.begin(session_id, opened(whole))
    draft.append(Delta("text", whole.reply.text or "."))
    draft.finish(whole)
    return whole


# -- sessions ----------------------------------------------------------------------------


def test_what_was_created_is_got_back(store: SessionStore) -> None:
    """Every field of a session is kept."""
    made = replace(session(title="Ünï 漢字"), system="Be brief.\0", kind="ask", head=None)
    store.create(made)
    assert store.get(made.id) == made


def test_save_changes_what_is_kept(store: SessionStore) -> None:
    """Title, model, system prompt and head are updated."""
    made = session()
    store.create(made)
    changed = replace(made, title="new", model="other", system="s", updated_at=made.updated_at + 1)
    store.save(changed)
    assert store.get(made.id) == changed


def test_an_unknown_session_is_not_found(store: SessionStore) -> None:
    """Each call that needs a session says so."""
    nobody = session()
    for call in (
        lambda: store.get(nobody.id),
        lambda: store.save(nobody),
        lambda: store.turns(nobody.id),
        lambda: store.remove(nobody.id),
        lambda: store.begin(nobody.id, turn()),
    ):
        with pytest.raises(SessionNotFound):
            call()


def test_sessions_come_last_used_first(store: SessionStore) -> None:
    """A finished turn makes its session the latest; kinds and limit select."""
    old, ask, new = session(at=1.0), session(kind="ask", at=2.0), session(at=3.0)
    for made in (old, ask, new):
        store.create(made)
    assert [s.id for s in store.sessions()] == [new.id, ask.id, old.id]
    assert [s.id for s in store.sessions(kinds=("chat",))] == [new.id, old.id]
    assert [s.id for s in store.sessions(limit=1)] == [new.id]
    _tell(store, old.id, turn())
    latest = store.latest()
    assert latest is not None
    assert latest.id == old.id


def test_an_empty_store_has_no_latest(store: SessionStore) -> None:
    """There is nothing to continue."""
    assert store.latest() is None
    assert store.sessions() == []
    assert store.search("anything") == []


# -- turns -------------------------------------------------------------------------------


def test_a_finished_turn_is_kept_whole_and_is_the_head(store: SessionStore) -> None:
    """Text, route, usage and token ids come back as they were."""
    made = session()
    store.create(made)
    first = _tell(store, made.id, turn("one"))
    second = _tell(store, made.id, turn("two", parent=first.id))
    assert store.turns(made.id) == [first, second]
    assert store.get(made.id).head == second.id
    assert store.path(made.id, second.id) == [first, second]
    assert store.path(made.id, first.id) == [first]
    assert store.path(made.id, None) == []


def test_siblings_stay_in_the_tree(store: SessionStore) -> None:
    """A regenerated reply overwrites nothing."""
    made = session()
    store.create(made)
    root = _tell(store, made.id, turn())
    left = _tell(store, made.id, turn("left", parent=root.id))
    right = _tell(store, made.id, turn("right", parent=root.id))
    assert store.turns(made.id) == [root, left, right]
    assert store.path(made.id, left.id) == [root, left]
    assert store.path(made.id, right.id) == [root, right]


def test_a_discarded_turn_leaves_nothing(store: SessionStore) -> None:
    """Neither a turn nor a hit, and the head stays."""
    made = session()
    store.create(made)
    first = _tell(store, made.id, turn())
    store.begin(made.id, opened(turn("zanzibar", parent=first.id))).discard()
    assert store.turns(made.id) == [first]
    assert store.get(made.id).head == first.id
    assert store.search("zanzibar") == []


def test_an_open_turn_is_not_listed(store: SessionStore) -> None:
    """What is being written is no part of the tree yet."""
    made = session()
    store.create(made)
    draft = store.begin(made.id, opened(turn()))
    assert store.turns(made.id) == []
    assert store.get(made.id).head is None
    draft.discard()


def test_add_keeps_a_session_with_its_turns(store: SessionStore) -> None:
    """A fork arrives in one step."""
    first = turn()
    second = turn(parent=first.id)
    made = replace(session(), head=second.id)
    store.add(made, [first, second])
    assert store.get(made.id) == made
    assert store.path(made.id, made.head) == [first, second]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(whole=any_turns, sampling=samplings)
def test_any_turn_comes_back_as_it_was(store: SessionStore, whole: Turn, sampling: object) -> None:
    """Whatever the texts, the parts and the numbers."""
    made = replace(session(), sampling=sampling)  # type: ignore[arg-type]
    store.create(made)
    store.begin(made.id, opened(whole)).finish(whole)
    assert store.turns(made.id) == [whole]
    assert store.get(made.id).sampling == sampling


# -- finding -----------------------------------------------------------------------------


def test_resolve_by_id_prefix_and_title(store: SessionStore) -> None:
    """Four characters of an id are enough, and titles are compared without case."""
    one, two = session("k3v9qabc", title="Monads in Haskell"), session("k3w8zzzz", title="Bread")
    store.create(one)
    store.create(two)
    assert store.resolve("k3v9qabc") == one
    assert store.resolve("k3v9") == one
    assert store.resolve("bread") == two
    with pytest.raises(SessionNotFound):
        store.resolve("k3v")
    with pytest.raises(SessionNotFound):
        store.resolve("")


def test_two_sessions_with_one_title_are_not_guessed(store: SessionStore) -> None:
    """The user chooses."""
    store.create(session(title="Bread"))
    store.create(session(title="bread"))
    with pytest.raises(SessionNotFound):
        store.resolve("Bread")


def test_search_wants_all_words_in_questions_or_replies(store: SessionStore) -> None:
    """The hit names the session and the turn."""
    made = session(title="t")
    store.create(made)
    said = _tell(store, made.id, turn("How do I bake sourdough?", "With a starter."))
    _tell(store, made.id, turn("Something else", "entirely"))
    hits = store.search("STARTER sourdough")
    assert [(hit.session.id, hit.turn) for hit in hits] == [(made.id, said.id)]
    assert store.search("sourdough entirely") == []
    assert len(store.search("e", limit=1)) <= 1


def test_a_removed_session_is_gone(store: SessionStore) -> None:
    """From lists, lookups and search."""
    made, other = session(), session()
    for each in (made, other):
        store.create(each)
        _tell(store, each.id, turn("zanzibar"))
    store.remove(made.id)
    assert [s.id for s in store.sessions()] == [other.id]
    assert [hit.session.id for hit in store.search("zanzibar")] == [other.id]
    with pytest.raises(SessionNotFound):
        store.get(made.id)


def test_hold_may_be_nested(store: SessionStore) -> None:
    """The same store may hold a session twice, and write while it does."""
    made = session()
    store.create(made)
    with store.hold(made.id), store.hold(made.id):
        _tell(store, made.id, turn())
    with store.hold(made.id):
        assert len(store.turns(made.id)) == 1


# -- any sequence of calls, against a plain dict -------------------------------------------


class AnyCalls(RuleBasedStateMachine):
    """Random trees, forks, head moves, renames and removals."""

    make: Maker

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.store = self.stack.enter_context(type(self).make(folder))
        self.trees: dict[SessionId, list[Turn]] = {}
        self.sessions: dict[SessionId, Session] = {}

    def teardown(self) -> None:
        """Close the store."""
        self.stack.close()

    def some(self, data: st.DataObject) -> Session:
        """Choose a known session."""
        return data.draw(st.sampled_from(list(self.sessions.values())))

    def place(self, data: st.DataObject, of: Session) -> TurnId | None:
        """Choose a turn of a session, or its root."""
        return data.draw(st.sampled_from([None, *(t.id for t in self.trees[of.id])]))

    @rule(kind=st.sampled_from(["chat", "ask"]))
    def create(self, kind: str) -> None:
        """A new session."""
        made = session(kind="chat" if kind == "chat" else "ask")
        self.store.create(made)
        self.sessions[made.id], self.trees[made.id] = made, []

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), words=st.sampled_from(["apple pear", "plum", "漢字"]), keep=st.booleans())
    def tell(self, data: st.DataObject, words: str, keep: bool) -> None:
        """A turn anywhere in the tree, finished or discarded."""
        of = self.some(data)
        whole = turn(words, "said", parent=self.place(data, of))
        draft = self.store.begin(of.id, opened(whole))
        draft.append(Delta("text", "said"))
        if not keep:
            draft.discard()
            return
        draft.finish(whole)
        self.trees[of.id].append(whole)
        self.sessions[of.id] = replace(of, head=whole.id, updated_at=whole.started_at)

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), title=st.text(max_size=10))
    def move(self, data: st.DataObject, title: str) -> None:
        """The head goes to another turn; the title changes."""
        of = self.some(data)
        self.sessions[of.id] = replace(of, head=self.place(data, of), title=title)
        self.store.save(self.sessions[of.id])

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        """A copy of a path becomes a session of its own."""
        of = self.some(data)
        copies: list[Turn] = []
        for each in self.store.path(of.id, self.place(data, of)):
            parent = copies[-1].id if copies else None
            copies.append(replace(each, id=TurnId(turn().id), parent=parent))
        made = replace(session(), head=copies[-1].id if copies else None)
        self.store.add(made, copies)
        self.sessions[made.id], self.trees[made.id] = made, copies

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """A session goes for good."""
        of = self.some(data)
        self.store.remove(of.id)
        del self.sessions[of.id], self.trees[of.id]

    @invariant()
    def same(self) -> None:
        """Lists, trees, paths and search agree with the plain dicts."""
        newest = sorted(self.sessions.values(), key=lambda s: -s.updated_at)
        assert self.store.sessions() == newest
        found: set[tuple[str, str]] = set()
        for of, tree in self.trees.items():
            assert self.store.turns(of) == tree
            head = self.sessions[of].head
            path = self.store.path(of, head)
            assert [t.parent for t in path] == [None, *(t.id for t in path)][: len(path)]
            assert (path[-1].id if path else None) == head
            found |= {(of, t.id) for t in tree if "apple" in t.asked[0].text}
        hits = self.store.search("pear apple", limit=1000)
        assert {(hit.session.id, hit.turn) for hit in hits} == found


class AnyCallsOnSqlite(AnyCalls):
    """The same on SQLite."""

    make = staticmethod(_sqlite)


TestAnyCallsOnSqlite = AnyCallsOnSqlite.TestCase
TestAnyCallsOnSqlite.settings = settings(max_examples=10, stateful_step_count=20, deadline=None)


class AnyCallsOnMemory(AnyCalls):
    """The same in memory."""

    make = staticmethod(_memory)


TestAnyCallsOnMemory = AnyCallsOnMemory.TestCase
TestAnyCallsOnMemory.settings = settings(max_examples=10, stateful_step_count=20, deadline=None)
