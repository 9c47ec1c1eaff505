"""What a case found: measurements of ours, of what it is compared with, and the bar."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import sub, truediv
from typing import Literal, TypeAlias

from chatcli.bench.spread import Interval, Spread, interval, spread

Unit: TypeAlias = Literal["s", "tokens/s", "MB"]
Judged: TypeAlias = Literal["value", "ratio", "difference"]

BETTER_UP: frozenset[Unit] = frozenset({"tokens/s"})
"""Units of which more is better."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What must be reached: at least `limit` where more of the unit is better, else at most.

    It judges ours itself (`value`), or the `ratio` or `difference` of ours and the other.
    """

    judged: Judged
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One line of the report. `other` are the partners of `ours`, pair by pair.

    `what` tells the results of one case apart; `against` names the other side. `facts` are
    counts that make a silent mistake visible, such as tokens evaluated.
    """

    case: str
    model: str = ""
    what: str = ""
    unit: Unit
    ours: tuple[float, ...]
    against: str = ""
    other: tuple[float, ...] = ()
    bar: Bar | None = None
    facts: tuple[tuple[str, int], ...] = ()

    @property
    def spread(self) -> Spread:
        """Ours, summed up."""
        return spread(self.ours)

    @property
    def other_spread(self) -> Spread | None:
        """The other side, summed up."""
        return spread(self.other) if self.other else None

    @property
    def ratio(self) -> Interval | None:
        """Ours over the other, pair by pair."""
        return interval(_paired(truediv, self.ours, self.other)) if self.other else None

    @property
    def difference(self) -> Interval | None:
        """Ours less the other, pair by pair, in `unit`."""
        return interval(_paired(sub, self.ours, self.other)) if self.other else None

    @property
    def passed(self) -> bool | None:
        """Whether the median reaches the bar; None without one."""
        if self.bar is None:
            return None
        judged = {
            "value": self.spread.median,
            "ratio": self.ratio.median if self.ratio else 0.0,
            "difference": self.difference.median if self.difference else 0.0,
        }[self.bar.judged]
        return judged >= self.bar.limit if self.unit in BETTER_UP else judged <= self.bar.limit


def _paired(operate: object, ours: Sequence[float], other: Sequence[float]) -> list[float]:
    return [operate(a, b) for a, b in zip(ours, other, strict=True)]  # type: ignore[operator]
