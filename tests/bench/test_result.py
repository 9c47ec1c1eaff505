"""What follows from measurements: ratio, difference, and whether a bar is reached."""

import pytest

from chatcli.bench.result import Bar, Judged, Result, Unit


def result(unit: Unit, judged: Judged, limit: float) -> Result:
    """Three pairs: 9, 10, 11 against 10, 10, 10."""
    bar = Bar(judged, limit)
    return Result(case="c", unit=unit, ours=(9, 10, 11), against="raw", other=(10, 10, 10), bar=bar)


@pytest.mark.parametrize(
    ("unit", "judged", "limit", "passed"),
    [
        ("tokens/s", "ratio", 1.0, True),
        ("tokens/s", "ratio", 1.01, False),
        ("s", "value", 10.0, True),
        ("s", "value", 9.9, False),
        ("MB", "difference", 0.0, True),
        ("MB", "difference", -0.1, False),
    ],
)
def test_a_bar_is_a_floor_for_speed_and_a_ceiling_for_time_and_memory(
    unit: Unit, judged: Judged, limit: float, passed: bool
) -> None:
    """Reached exactly is reached."""
    assert result(unit, judged, limit).passed is passed


def test_pairs_are_compared_one_by_one() -> None:
    """The ratio is the median of ratios, not the ratio of medians."""
    found = Result(case="c", unit="s", ours=(1, 2, 30), against="raw", other=(1, 4, 10))
    assert found.ratio is not None
    assert (found.ratio.low, found.ratio.median, found.ratio.high) == (0.5, 1.0, 3.0)
    assert found.difference is not None
    assert found.difference.median == 0


def test_without_partner_and_bar_there_is_nothing_to_judge() -> None:
    """A plain measurement has a spread only."""
    found = Result(case="c", unit="s", ours=(1.0, 2.0))
    assert (found.ratio, found.difference, found.other_spread, found.passed) == (None,) * 4
    assert found.spread.median == 1.5


def test_a_side_with_a_measurement_more_is_refused() -> None:
    """Pairs are whole."""
    with pytest.raises(ValueError, match="zip"):
        _ = Result(case="c", unit="s", ours=(1.0, 2.0), against="raw", other=(1.0,)).ratio
