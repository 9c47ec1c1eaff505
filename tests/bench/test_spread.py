"""Medians and their intervals, as mathematics has them."""

from collections.abc import Sequence
from itertools import product
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.bench.spread import coverage, interval, spread

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(numbers)
def test_a_spread_is_ordered(values: list[float]) -> None:
    """Least, median and greatest stand in their order, and are of the values."""
    found = spread(values)
    assert found.low == min(values) <= found.median <= max(values) == found.high
    assert found.n == len(values)


@given(numbers, st.randoms(use_true_random=False))
def test_an_interval_holds_the_median_whatever_the_order(
    values: list[float], random: object
) -> None:
    """It lies within the extremes, holds the sample's median, and does not see the order."""
    found = interval(values)
    assert min(values) <= found.low <= found.median <= found.high <= max(values)
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert interval(shuffled) == found


@given(numbers, st.floats(0.1, 10.0))
def test_an_interval_scales_with_its_values(values: list[float], factor: float) -> None:
    """Other units change the numbers and nothing else."""
    found, scaled = interval(values), interval([value * factor for value in values])
    assert scaled.low == pytest.approx(found.low * factor)
    assert scaled.high == pytest.approx(found.high * factor)
    assert scaled.coverage == found.coverage


@given(st.integers(6, 60))
def test_six_values_and_more_reach_the_confidence(n: int) -> None:
    """From 6 on the interval covers at least 95 %, and the next narrower would not."""
    values = [float(i) for i in range(n)]
    found = interval(values)
    k = int(found.low) + 1
    assert found.coverage >= 0.95
    assert 2 * (k + 1) > n or coverage(n, k + 1) < 0.95


def test_few_values_give_their_extremes_and_say_how_little_it_is() -> None:
    """Three values enclose the median with 75 % only."""
    assert interval([3.0, 1.0, 2.0]) == interval([1.0, 2.0, 3.0])
    found = interval([3.0, 1.0, 2.0])
    assert (found.low, found.median, found.high, found.coverage) == (1.0, 2.0, 3.0, 0.75)
    assert interval([5.0]).coverage == 0.0


@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 1), (7, 1), (7, 2), (8, 3)])
def test_coverage_is_that_of_tossed_coins(n: int, k: int) -> None:
    """Counted over all 2^n outcomes: each value falls left or right of the true median."""

    def encloses(sides: Sequence[int]) -> bool:
        return k <= sum(sides) <= n - k

    outcomes = list(product((0, 1), repeat=n))
    assert coverage(n, k) == pytest.approx(sum(map(encloses, outcomes)) / len(outcomes))


@given(numbers)
def test_the_median_is_the_statistician_s(values: list[float]) -> None:
    """The middle value, or the mean of the two."""
    assert spread(values).median == interval(values).median == median(values)
