"""A conversation: a session, a place in its tree, and what can be done there.

The terminal, the pipe and a later gateway all talk to this class; none of them touches the
store or an engine. Nothing is ever overwritten: edit, undo and regenerate move the head in
a tree of turns; a fork is a new session that starts with a copy of the path.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from chatcli.core.cancel import Cancel
from chatcli.core.errors import ChatcliError, UsageError
from chatcli.core.event import Event, Finished
from chatcli.core.message import Message, user
from chatcli.core.ports import Constraint, Measure, Prompt
from chatcli.core.sampling import Sampling
from chatcli.core.session import Kind, Session, SessionId, Turn, TurnId
from chatcli.orchestrator.context import Overflow, compose
from chatcli.orchestrator.turn import Ports, Request, run


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How replies are made, apart from what belongs to the session itself."""

    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    constraint: Constraint | None = None
    overflow: Overflow = "error"


class Conversation:
    """One session being talked to. Not thread-safe: one turn at a time.

    The session is created in the store with its first question, so that an opened and
    closed prompt leaves nothing behind. While it is talked to it is held against other
    processes.
    """

    def __init__(self, ports: Ports, style: Style, title_from: Callable[[str], str]) -> None:
        self._ports = ports
        self._title_from = title_from
        self._held = ExitStack()
        self._stored = False
        self.style = style
        self.session = Session(id=SessionId(""), kind="chat", model="", clock=0.0)

    # -- which session ---------------------------------------------------------------

    def start(self, *, model: str, system: str = "", kind: Kind = "chat") -> None:
        """Begin a new session; it is stored with its first question."""
        self.close()
        now = self._ports.now()
        new = SessionId(self._ports.new_id())
        self.session = Session(
            id=new, kind=kind, model=model, clock=now, system=system, updated_at=now
        )

    def load(self, session: Session) -> None:
        """Take up a stored session where it was left.

        Raises:
            SessionBusy: another process talks to it.
        """
        if self._stored and session.id == self.session.id:
            return
        held = ExitStack()
        held.enter_context(self._ports.store.hold(session.id))
        self.close()
        self._held = held
        self._stored = True
        self.session = self._ports.store.get(session.id)

    def fork(self, at: Turn | None = None) -> Session:
        """Go on in a new session that starts with the turns up to `at` (default: here).

        Returns the session that was left; it stays as it is.
        """
        left = self.session
        head = at.id if at is not None else left.head
        return self.fork_of(left, head)

    def fork_of(self, source: Session, head: TurnId | None) -> Session:
        """Go on in a copy of the path to `head` of any stored session, held or not."""
        turns = self._copy(self._ports.store.path(source.id, head)) if head is not None else []
        title = f"{source.title} (fork)" if source.title else ""
        fork = replace(
            source,
            id=SessionId(self._ports.new_id()),
            kind="chat",
            title=title,
            head=turns[-1].id if turns else None,
            updated_at=self._ports.now(),
        )
        self._ports.store.add(fork, turns)
        self.load(fork)
        return source

    def _copy(self, path: list[Turn]) -> list[Turn]:
        copies: list[Turn] = []
        names: dict[TurnId, TurnId] = {}
        for turn in path:
            names[turn.id] = TurnId(self._ports.new_id())
            cut = turn.cut
            if cut is not None and cut.before is not None:
                cut = replace(cut, before=names.get(cut.before))
            parent = copies[-1].id if copies else None
            copies.append(replace(turn, id=names[turn.id], parent=parent, cut=cut))
        return copies

    def close(self) -> None:
        """Let go of the session."""
        self._held.close()
        self._held = ExitStack()
        self._stored = False

    # -- talking ---------------------------------------------------------------------

    def ask(self, message: Message, cancel: Cancel) -> Iterator[Event]:
        """Ask a question behind the current turn."""
        return self._run(self.session.head, (message,), cancel)

    def regenerate(self, cancel: Cancel, turn: Turn | None = None) -> Iterator[Event]:
        """Ask the question of `turn` (default: the current one) again, as a sibling."""
        turn = turn or self.current()
        return self._run(turn.parent, turn.asked, cancel)

    def edit(self, message: Message, cancel: Cancel, turn: Turn | None = None) -> Iterator[Event]:
        """Ask something else in the place of `turn` (default: the current one), as a sibling."""
        turn = turn or self.current()
        return self._run(turn.parent, (message,), cancel)

    def resume(self, cancel: Cancel) -> Iterator[Event]:
        """Let the current reply go on; the whole reply becomes a sibling of the old one."""
        turn = self.current()
        return self._run(turn.parent, turn.asked, cancel, resume=turn)

    def _run(
        self,
        parent: TurnId | None,
        asked: tuple[Message, ...],
        cancel: Cancel,
        resume: Turn | None = None,
    ) -> Iterator[Event]:
        new = not self._stored
        self._store_session(asked)
        try:
            yield from self._turn(parent, asked, cancel, resume)
        except ChatcliError:
            if new and not self.turns():
                # Nothing was said: an empty session would only clutter the list.
                self._ports.store.remove(self.session.id)
                self.close()
            raise

    def _turn(
        self,
        parent: TurnId | None,
        asked: tuple[Message, ...],
        cancel: Cancel,
        resume: Turn | None,
    ) -> Iterator[Event]:
        style = self.style
        request = Request(
            session=self.session,
            parent=parent,
            asked=asked,
            sampling=style.sampling,
            max_tokens=style.max_tokens,
            stop=style.stop,
            constraint=style.constraint,
            overflow=style.overflow,
            resume=resume,
        )
        for event in run(request, self._ports, cancel):
            if isinstance(event, Finished):
                self.session = self._ports.store.get(self.session.id)
            yield event

    def _store_session(self, asked: tuple[Message, ...]) -> None:
        if not self.session.title and asked:
            self.session = replace(self.session, title=self._title_from(asked[0].content))
        if self._stored:
            self._ports.store.save(self.session)
            return
        self._held.enter_context(self._ports.store.hold(self.session.id))
        self._ports.store.create(self.session)
        self._stored = True

    # -- the tree --------------------------------------------------------------------

    def path(self) -> list[Turn]:
        """Return the turns from the first to the current one."""
        if not self._stored:
            return []
        return self._ports.store.path(self.session.id, self.session.head)

    def turns(self) -> list[Turn]:
        """Return the whole tree."""
        return self._ports.store.turns(self.session.id) if self._stored else []

    def current(self) -> Turn:
        """Return the turn that the next question follows.

        Raises:
            UsageError: nothing has been said yet.
        """
        path = self.path()
        if not path:
            raise UsageError("nothing has been said in this chat yet", "Ask something first")
        return path[-1]

    def undo(self, n: int = 1) -> list[Turn]:
        """Step back by `n` turns; returns those stepped over, which stay in the tree."""
        path = self.path()
        if not path:
            raise UsageError("there is nothing to undo")
        keep = max(0, len(path) - n)
        self._save(head=path[keep - 1].id if keep else None)
        return path[keep:]

    def go(self, turn: Turn) -> None:
        """Make `turn` the current one."""
        self._save(head=turn.id)

    def find(self, reference: str) -> Turn:
        """Return a turn of this session by its number on the path (1 = first) or id prefix.

        Raises:
            UsageError: no turn, or several, match.
        """
        path = self.path()
        # Python refuses to read a number of thousands of digits.
        number = int(reference) if reference.isdecimal() and len(reference) < 10 else 0
        if 1 <= number <= len(path):
            return path[number - 1]
        found = [turn for turn in self.turns() if reference and turn.id.startswith(reference)]
        if len(found) == 1:
            return found[0]
        several = f"{len(found)} turns match" if found else "no turn matches"
        raise UsageError(
            f"{several} {reference!r}", f"Give a number from 1 to {len(path)}, or an id from /tree"
        )

    # -- what belongs to the session -------------------------------------------------

    def set_system(self, system: str) -> None:
        """Change the system prompt from the next turn on."""
        self._save(system=system)

    def set_model(self, model: str) -> None:
        """Change the model from the next turn on; it is loaded at once.

        Raises:
            ModelError: it cannot be used; the old one stays.
        """
        self._ports.engines.engine(model)
        self._save(model=model)

    def set_sampling(self, sampling: Sampling) -> None:
        """Change the session's own sampling from the next turn on."""
        self._save(sampling=sampling)

    def rename(self, title: str) -> None:
        """Give the session a title."""
        self._save(title=title)

    def _save(self, **changes: object) -> None:
        self.session = replace(self.session, **changes)  # type: ignore[arg-type]  # names are fields
        if self._stored:
            self._ports.store.save(self.session)

    def measure(self, message: Message | None = None) -> Measure:
        """Count the tokens of the chat as it stands, with `message` if one is given."""
        engine = self._ports.engines.engine(self.session.model)
        base = Prompt(asked=(), system=self.session.system, clock=self.session.clock)
        asked = (message if message is not None else user(""),)
        return engine.measure(compose(self.path(), asked, engine, base))
