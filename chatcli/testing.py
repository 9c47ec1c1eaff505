"""Doubles that ship: a scripted engine and a store in memory.

For tests, and for trying the terminal without a model. They keep every promise of the
ports, so that what works with them works with the real ones.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Literal

from chatcli.core.cancel import Cancel
from chatcli.core.errors import ContextOverflow, SessionNotFound
from chatcli.core.event import Delta, EngineEvent, Generated, Prefilled, Restored
from chatcli.core.message import Message, Part, Reasoning, Text
from chatcli.core.ports import Draft, Hit, Measure, Prompt
from chatcli.core.session import (
    Fingerprint,
    FinishReason,
    Kind,
    Session,
    SessionId,
    TokenRecord,
    Turn,
    TurnId,
)
from chatcli.core.usage import Usage


class ScriptedEngine:
    """Says the scripted replies, one after the other, then echoes the question.

    A reply is a sequence of pieces, one token each; a piece `("reasoning", text)` is
    thought, not said. A word is a token: `measure` and the records count words.
    `pause_s` is slept before each piece, so that a test can interrupt.
    """

    def __init__(
        self,
        replies: Sequence[Sequence[str | tuple[Literal["text", "reasoning"], str]]] = (),
        *,
        model: str = "scripted",
        context: int = 4096,
        pause_s: float = 0.0,
    ) -> None:
        self.model = model
        self.fingerprint = Fingerprint(model.encode().hex().ljust(32, "0")[:32])
        self.prompts: list[Prompt] = []
        self.closed = False
        self._replies = list(replies)
        self._context = context
        self._pause_s = pause_s
        self._words: dict[str, int] = {}

    def engine(self, model: str) -> "ScriptedEngine":
        """Serve as its own `EngineSource`, under any name."""
        self.model = model
        return self

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._words.setdefault(word, len(self._words)) for word in text.split())

    def _context_ids(self, prompt: Prompt) -> tuple[list[int], int]:
        """Return all ids of the prompt, and how many of them the history's records gave."""
        ids: list[int] = [] if prompt.history else list(self._ids(f"<system> {prompt.system}"))
        known = 0
        for exchange in prompt.history:
            if (record := exchange.record) is not None:
                ids = [*ids[: record.keep], *record.prompt, *record.reply]
                known = len(ids)
            else:
                ids += self._ids(self._said(exchange.asked) + f" <bot> {exchange.reply.text}")
        ids += self._ids(self._said(prompt.asked) + " <bot>")
        return ids, known

    def _said(self, messages: Sequence[Message]) -> str:
        return " ".join(f"<{message.role}> {message.content}" for message in messages)

    def measure(self, prompt: Prompt) -> Measure:
        """Count words."""
        return Measure(len(self._context_ids(prompt)[0]), self._context)

    def generate(self, prompt: Prompt, cancel: Cancel) -> Iterator[EngineEvent]:
        """Yield the next scripted reply as a real engine would."""
        self.prompts.append(prompt)
        ids, known = self._context_ids(prompt)
        if len(ids) > self._context:
            raise ContextOverflow("too long", needed=len(ids), limit=self._context)
        pieces = self._replies.pop(0) if self._replies else self._echo(prompt)
        if known:
            yield Restored(known)
        yield Prefilled(len(ids) - known, len(ids) - known)
        parts: list[Part] = list(prompt.resume.reply.parts) if prompt.resume else []
        finish: FinishReason = "stop"
        said = 0
        for piece in pieces:
            if self._pause_s:
                time.sleep(self._pause_s)
            if cancel:
                finish = "cancelled"
                break
            if prompt.max_tokens is not None and said >= prompt.max_tokens:
                finish = "length"
                break
            said += 1
            kind, text = ("text", piece) if isinstance(piece, str) else piece
            parts.append(Text(text) if kind == "text" else Reasoning(text))
            yield Delta("text" if kind == "text" else "reasoning", text)
        reply = _joined(parts)
        record = TokenRecord(known, tuple(ids[known:]), self._ids(reply.reasoning + reply.text))
        usage = Usage(reused_memory=known, evaluated=len(ids) - known, completion=said)
        yield Generated(reply, self.fingerprint, record, usage, finish)

    def _echo(self, prompt: Prompt) -> list[str]:
        words = prompt.asked[-1].text.split() if prompt.asked else []
        return ["You said:", *(f" {word}" for word in words)]

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


def _joined(parts: Sequence[Part]) -> Message:
    """Join neighbouring parts of one kind, as the real engine's reply has them."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(last, Text):
            joined[-1] = Text(last.text + part.text)
        elif isinstance(part, Reasoning) and isinstance(last, Reasoning):
            joined[-1] = Reasoning(last.text + part.text)
        else:
            joined.append(part)
    return Message("assistant", tuple(joined))


class _MemoryDraft:
    """Keeps the turn when it is finished; a process that dies loses all of it anyway."""

    def __init__(self, store: "MemoryStore", session_id: SessionId) -> None:
        self._store = store
        self._session_id = session_id

    def append(self, delta: Delta) -> None:
        """Nothing to do in memory."""

    def finish(self, turn: Turn) -> None:
        """Add the turn and move the head."""
        session = self._store.get(self._session_id)
        self._store.trees[session.id].append(turn)
        self._store.save(replace(session, head=turn.id, updated_at=turn.started_at))

    def discard(self) -> None:
        """Nothing was kept."""


class MemoryStore:
    """Sessions in memory: for tests, and for chats that must leave nothing behind."""

    def __init__(self) -> None:
        self.trees: dict[SessionId, list[Turn]] = {}
        self._sessions: dict[SessionId, Session] = {}

    def create(self, session: Session) -> None:
        """Add a new, empty session."""
        self._sessions[session.id] = session
        self.trees[session.id] = []

    def add(self, session: Session, turns: Sequence[Turn]) -> None:
        """Add a session with its turns."""
        self.create(session)
        self.trees[session.id] += turns

    def save(self, session: Session) -> None:
        """Update a known session; it becomes the one used last."""
        self.get(session.id)
        del self._sessions[session.id]
        self._sessions[session.id] = session

    def get(self, session_id: SessionId) -> Session:
        """Return one session."""
        if session_id not in self._sessions:
            raise SessionNotFound(f"no session {session_id}")
        return self._sessions[session_id]

    def resolve(self, reference: str) -> Session:
        """Find a session by id, unique prefix or title."""
        found = [
            session
            for session in self._sessions.values()
            if (len(reference) >= 4 and session.id.startswith(reference))
            or (reference and session.title.lower() == reference.lower())
        ]
        if len(found) != 1:
            count = "no session" if not found else f"{len(found)} sessions"
            raise SessionNotFound(f"{count} called {reference!r}")
        return found[0]

    def latest(self) -> Session | None:
        """Return the session that was used last."""
        return next(iter(self.sessions()), None)

    def sessions(self, *, kinds: Sequence[Kind] = ("chat", "ask"), limit: int = 0) -> list[Session]:
        """Return sessions, last used first."""
        found = [s for s in reversed(self._sessions.values()) if s.kind in kinds]
        found.sort(key=lambda session: -session.updated_at)
        return found[:limit] if limit else found

    def search(self, words: str, *, limit: int = 20) -> list[Hit]:
        """Find turns that hold every one of `words`."""
        wanted = words.lower().split()
        hits = []
        for session_id, turns in self.trees.items():
            for turn in turns:
                text = " ".join([*(m.content for m in turn.asked), turn.reply.text])
                if all(word in text.lower() for word in wanted):
                    hits.append(Hit(self.get(session_id), turn.id, text[:80]))
        return hits[:limit]

    def turns(self, session_id: SessionId) -> list[Turn]:
        """Return the whole tree."""
        self.get(session_id)
        return list(self.trees[session_id])

    def path(self, session_id: SessionId, head: TurnId | None) -> list[Turn]:
        """Return the turns from the root to `head`."""
        by_id = {turn.id: turn for turn in self.trees.get(session_id, [])}
        path: list[Turn] = []
        while head is not None:
            if head not in by_id:
                raise SessionNotFound(f"session {session_id} has no turn {head}")
            path.append(by_id[head])
            head = path[-1].parent
        return path[::-1]

    def begin(self, session_id: SessionId, turn: Turn) -> Draft:
        """Return a draft."""
        self.get(session_id)
        del turn
        return _MemoryDraft(self, session_id)

    def remove(self, session_id: SessionId) -> None:
        """Delete a session."""
        self.get(session_id)
        del self._sessions[session_id], self.trees[session_id]

    def hold(self, session_id: SessionId) -> AbstractContextManager[None]:
        """Hold nothing: no other process can see it."""
        del session_id
        return nullcontext()
