"""The interfaces that the orchestrator needs; the packages below it supply them."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from chatcli.core.cancel import Cancel
from chatcli.core.event import Delta, EngineEvent
from chatcli.core.message import Message
from chatcli.core.sampling import Sampling
from chatcli.core.session import Fingerprint, Kind, Session, SessionId, TokenRecord, Turn, TurnId


@dataclass(frozen=True, slots=True)
class Constraint:
    """What the output must match: a JSON schema (its text) or a GBNF grammar (its text)."""

    kind: Literal["schema", "grammar"]
    text: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """One past turn as an engine needs it; `record` is None where this model was not there."""

    asked: tuple[Message, ...]
    reply: Message
    record: TokenRecord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """All that one generation depends on.

    `history` runs from the first turn in the context to the one before this question.
    `clock` is the session's frozen clock, in seconds since the epoch.
    `max_tokens` None means: fitted to the context. `resume` is a reply to go on with
    (`/continue`): its `asked` equals this `asked`, and `Generated` then holds the whole
    reply, old and new, while the deltas say only what is new. `session` is the id of the
    session that asks: what is kept of evaluated tokens goes when that is deleted.
    """

    asked: tuple[Message, ...]
    history: tuple[Exchange, ...] = ()
    system: str = ""
    clock: float = 0.0
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    constraint: Constraint | None = None
    resume: Exchange | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """What a prompt takes: tokens in all, and the most that the context can hold."""

    prompt: int
    limit: int


class Engine(Protocol):
    """A model, ready to talk."""

    @property
    def model(self) -> str:
        """The name by which the user knows it."""
        ...

    @property
    def fingerprint(self) -> Fingerprint:
        """Its identity; token records are filed under it."""
        ...

    def measure(self, prompt: Prompt) -> Measure:
        """Count the tokens of `prompt` without evaluating any."""
        ...

    def generate(self, prompt: Prompt, cancel: Cancel) -> Iterator[EngineEvent]:
        """Yield the reply, ending with one `Generated`; poll `cancel` between tokens.

        Raises:
            ContextOverflow: before anything is evaluated, if the prompt does not fit.
        """
        ...

    def close(self) -> None:
        """Free the model. Further calls fail."""
        ...


class EngineSource(Protocol):
    """Where engines come from; loads a model at its first use and keeps it."""

    def engine(self, model: str) -> Engine:
        """Return the engine of `model` (a catalogue name or a path).

        Raises:
            ModelError: it is missing, damaged, or does not fit.
        """
        ...


class Draft(Protocol):
    """A turn being written. What is appended survives a kill of the process."""

    def append(self, delta: Delta) -> None:
        """Keep a piece of the reply, before it is shown."""
        ...

    def finish(self, turn: Turn) -> None:
        """Make the whole turn durable and move the session's head to it."""
        ...

    def discard(self) -> None:
        """Drop a turn that said nothing (an error before the first token)."""
        ...


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where a search matched: the session, the turn, and the words around it."""

    session: Session
    turn: TurnId
    snippet: str


class SessionStore(Protocol):
    """Where sessions and their turns are kept."""

    def create(self, session: Session) -> None:
        """Add a new, empty session."""
        ...

    def add(self, session: Session, turns: Sequence[Turn]) -> None:
        """Add a session with its finished turns, parents first, in one step (fork, import)."""
        ...

    def save(self, session: Session) -> None:
        """Update title, model, system prompt, sampling and head of a known session."""
        ...

    def get(self, session_id: SessionId) -> Session:
        """Return one session. Raises SessionNotFound."""
        ...

    def resolve(self, reference: str) -> Session:
        """Find a session by id, unique id prefix of >= 4 characters, or title.

        Raises:
            SessionNotFound: none or several match; the hint names the candidates.
        """
        ...

    def latest(self) -> Session | None:
        """Return the session of any kind that was used last."""
        ...

    def sessions(self, *, kinds: Sequence[Kind] = ("chat", "ask"), limit: int = 0) -> list[Session]:
        """Return sessions, last used first; `limit` 0 means all."""
        ...

    def search(self, words: str, *, limit: int = 20) -> list[Hit]:
        """Search the texts of all turns, best match first."""
        ...

    def turns(self, session_id: SessionId) -> list[Turn]:
        """Return the whole tree, parents before children, oldest first."""
        ...

    def path(self, session_id: SessionId, head: TurnId | None) -> list[Turn]:
        """Return the turns from the root to `head`."""
        ...

    def begin(self, session_id: SessionId, turn: Turn) -> Draft:
        """Keep the question at once, and return a draft for the reply."""
        ...

    def remove(self, session_id: SessionId) -> None:
        """Delete for good: rows, search index, journal."""
        ...

    def hold(self, session_id: SessionId) -> AbstractContextManager[None]:
        """Hold a session against other processes while it is being written.

        Raises:
            SessionBusy: another process holds it.
        """
        ...
