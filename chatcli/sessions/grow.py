"""Foreign chats, given as paths of messages, to our sessions and trees of turns; pure.

Other programs keep single messages; here a question and its reply are one turn. Ids are
made from the other program's, so that importing again finds what is there.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from chatcli.core.decision import Route
from chatcli.core.ids import id_from
from chatcli.core.message import Message, Part
from chatcli.core.sampling import Sampling
from chatcli.core.session import Session, SessionId, Turn, TurnId
from chatcli.core.usage import Usage
from chatcli.sessions.titles import title_from


@dataclass(frozen=True, slots=True)
class Chat:
    """A session with its turns, parents first."""

    session: Session
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of another program; `key` is its id there, `at` in seconds since the epoch."""

    key: str
    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]
    at: float = 0.0
    model: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What another program knows about a whole chat; `head` is the key of its last message."""

    program: str
    key: str
    title: str = ""
    model: str = ""
    at: float = 0.0
    head: str = ""


def grow(source: Source, paths: Iterable[Sequence[Said]]) -> Chat | None:
    """Make a chat of all paths through it, each from its first message to a last one.

    Paths may share their beginnings: those become one. None if nothing was said.
    """
    turns: dict[TurnId, Turn] = {}
    head: TurnId | None = None
    system = ""
    for path in paths:
        system = system or _system(path)
        parent: TurnId | None = None
        for asked, replies in _exchanges(path):
            turn = _turn(source, parent, asked, replies)
            turns.setdefault(turn.id, turn)
            parent = turn.id
        if head is None or (path and path[-1].key == source.head):
            head = parent
    if not turns:
        return None
    return Chat(_session(source, system, list(turns.values()), head), tuple(turns.values()))


def _system(path: Sequence[Said]) -> str:
    for said in path:
        if said.role == "system":
            return Message("system", said.parts).text
    return ""


def _exchanges(path: Sequence[Said]) -> list[tuple[list[Said], list[Said]]]:
    """Cut a path behind each reply; several questions or replies in a row belong together."""
    cut: list[tuple[list[Said], list[Said]]] = []
    for said in path:
        if said.role == "system":
            continue
        if said.role == "user" and (not cut or cut[-1][1]):
            cut.append(([said], []))
        elif said.role == "user":
            cut[-1][0].append(said)
        elif cut:
            cut[-1][1].append(said)
        else:
            cut.append(([], [said]))
    return cut


def _turn(
    source: Source, parent: TurnId | None, asked: Sequence[Said], replies: Sequence[Said]
) -> Turn:
    last = replies[-1] if replies else asked[-1]
    first = asked[0] if asked else replies[0]
    model = next((said.model for said in reversed(replies) if said.model), source.model)
    questions = tuple(Message("user", said.parts) for said in asked)
    return Turn(
        id=TurnId(made_id(source.program, source.key, last.key)),
        parent=parent,
        # A greeting that came before any question: templates want a question first.
        asked=questions or (Message("user", ()),),
        reply=Message("assistant", tuple(part for said in replies for part in said.parts)),
        route=Route(model=model, rule=f"imported from {source.program}"),
        finish="stop" if replies else "interrupted",
        started_at=first.at or source.at,
        usage=last.usage,
    )


def _session(source: Source, system: str, turns: Sequence[Turn], head: TurnId | None) -> Session:
    started = min(turn.started_at for turn in turns)
    return Session(
        id=SessionId(made_id(source.program, source.key)),
        kind="chat" if len(turns) > 1 else "ask",
        model=source.model or turns[-1].route.model,
        clock=source.at or started,
        system=system,
        sampling=Sampling(),
        title=title_from(source.title) or title_from(turns[0].asked[0].content),
        head=head,
        updated_at=max(turn.started_at for turn in turns),
    )


def made_id(*names: str) -> str:
    """Return the id that belongs to these names, always the same one."""
    joined = "\0".join(names).encode("utf-8", "surrogatepass")
    return id_from(hashlib.sha256(joined).digest())
