"""What happens during a turn, in order.

A turn is one `Iterator[Event]` that reads, as a grammar::

    turn = (Judged | Notice)* Routed Retrieved? step+ Finished
    step = (Restored | Notice)* Prefilled* (Delta | Judged | Notice)* (ToolStarted ToolFinished)*

`Finished` comes exactly once and last, also after a block or a cancel.
Failures are raised (`chatcli.core.errors`), never yielded.

An engine yields the subset `EngineEvent`, which ends with `Generated` instead: it knows
tokens and text, not turns. The orchestrator makes the `Turn` out of it.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from chatcli.core.decision import Route, Verdict
from chatcli.core.message import Message
from chatcli.core.session import Fingerprint, FinishReason, TokenRecord, Turn
from chatcli.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Judged:
    """A safety rule spoke."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Routed:
    """The model was chosen."""

    route: Route


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Passages were found and put into the context: their names."""

    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restored:
    """State was reused: `memory` and `disk` tokens need no evaluation; `bytes` were read."""

    memory: int
    disk: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Prefilled:
    """Prompt tokens evaluated so far, of the total to evaluate."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the reply, safe to show now; never empty."""

    kind: Literal["text", "reasoning"]
    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool runs."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool gave back its result."""

    call_id: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Notice:
    """One line that the user should see: what was done, and what can be done about it."""

    text: str


@dataclass(frozen=True, slots=True)
class Generated:
    """The engine's last event. `reply` is exactly what its deltas said."""

    reply: Message
    fingerprint: Fingerprint
    record: TokenRecord
    usage: Usage
    finish: FinishReason


@dataclass(frozen=True, slots=True)
class Finished:
    """The end; the turn is on disk, and its reply is exactly what was shown."""

    turn: Turn


EngineEvent: TypeAlias = Restored | Prefilled | Delta | Notice | Generated
Event: TypeAlias = (
    Judged
    | Routed
    | Retrieved
    | Restored
    | Prefilled
    | Delta
    | ToolStarted
    | ToolFinished
    | Notice
    | Finished
)
