"""Medians and how far to trust them: pure functions of numbers.

Nothing here assumes a normal distribution: times of a shared machine have a long tail.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

CONFIDENCE = 0.95
"""Wanted coverage of an interval."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of `n` measurements, and their extremes."""

    median: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Interval:
    """A median with an interval that covers the true one with probability `coverage`."""

    median: float
    low: float
    high: float
    coverage: float


def spread(values: Sequence[float]) -> Spread:
    """Return the median, the least and the greatest of `values`, which may not be empty."""
    return Spread(median(values), min(values), max(values), len(values))


def interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Return the median and the narrowest pair of order statistics that covers it.

    The k-th least and the k-th greatest of n values enclose the true median unless fewer
    than k values fall on one side of it: a coin tossed n times (Conover, Practical
    Nonparametric Statistics, section 3.2). With fewer than 6 values no pair reaches 95 %:
    the extremes are given, and `coverage` says how little that is.
    """
    ordered = sorted(values)
    n = len(ordered)
    best = 1
    while 2 * (best + 1) <= n and coverage(n, best + 1) >= confidence:
        best += 1
    return Interval(median(ordered), ordered[best - 1], ordered[n - best], coverage(n, best))


def coverage(n: int, k: int) -> float:
    """Return how likely the k-th least and k-th greatest of `n` values enclose the median."""
    outside = sum(comb(n, i) for i in range(k))
    return max(0.0, 1 - 2 * outside / float(2**n))
