"""What is kept: turns in a tree, and the session that holds them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NewType, TypeAlias

from chatcli.core.decision import Route, Verdict
from chatcli.core.message import Message
from chatcli.core.sampling import Sampling
from chatcli.core.usage import Usage

TurnId = NewType("TurnId", str)
SessionId = NewType("SessionId", str)
TokenId: TypeAlias = int
Fingerprint = NewType("Fingerprint", str)
"""Identity of a model's tokenizer, template and weights: 32 hex digits."""

FinishReason: TypeAlias = Literal[
    "stop", "length", "loop", "tool_calls", "cancelled", "blocked", "interrupted"
]
"""Why a reply ended.

`length`: the token limit; `loop`: it repeated itself; `cancelled`: the user stopped it;
`blocked`: a safety rule; `interrupted`: the process died, and the shown part was recovered.
"""

Kind: TypeAlias = Literal["chat", "ask"]


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """The exact ids that one model saw and said in one turn.

    The whole context after the turn is ``(context after the parent)[:keep] + prompt + reply``.
    `keep` equals the parent's whole length unless the template rewrote history.
    `reply` holds no end-of-generation token: that one is sampled but never evaluated.
    Its first `thought` ids are reasoning and the markers around it.

        parent's context          this turn
        |------- keep -------|xxx|---- prompt ----|-- thought --|-- answer --|
                              (dropped)           |--------- reply ----------|
    """

    keep: int
    prompt: tuple[TokenId, ...]
    reply: tuple[TokenId, ...]
    thought: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """Older turns left out of the context, on the user's policy; nothing is deleted.

    `before` is the first turn that is still in the context (None: this turn itself);
    `summary` stands in for the ones before it ("" when they were simply dropped).
    """

    before: TurnId | None
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question and its reply. `parent` makes fork, undo, edit and regenerate one thing: a tree.

    `tokens` maps a model's fingerprint to its record: those ids are the truth and are
    never tokenised again for that model. `started_at` is in seconds since the epoch.
    """

    id: TurnId
    parent: TurnId | None
    asked: tuple[Message, ...]
    reply: Message
    route: Route
    finish: FinishReason
    started_at: float
    usage: Usage = field(default_factory=Usage)
    tokens: Mapping[Fingerprint, TokenRecord] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    cut: Cut | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation. `clock` (seconds since the epoch) is frozen at creation.

    Templates that print the date read `clock`, so that their prefix stays the same
    tomorrow. `head` is the turn that the next question follows.
    """

    id: SessionId
    kind: Kind
    model: str
    clock: float
    system: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    title: str = ""
    head: TurnId | None = None
    updated_at: float = 0.0
