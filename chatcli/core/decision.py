"""What is decided about a turn: where it goes and whether it may."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Action: TypeAlias = Literal["allow", "warn", "redact", "block"]
Where: TypeAlias = Literal["input", "output", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The model chosen, and why; `score` is P(needs the large model) in [0, 1]."""

    model: str
    rule: str
    score: float = 0.0
    features: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of one safety rule on one text; `span` is in characters, half open."""

    where: Where
    action: Action
    rule: str
    score: float
    span: tuple[int, int] | None = None
