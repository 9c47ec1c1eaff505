"""Results as text: the snapshot of a report, JSON there and back, the change between two."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.bench.report import changes, from_json, markdown, number, table, to_json
from chatcli.bench.result import Result
from chatcli.core.errors import InputError
from tests.bench.made import report

SNAPSHOT = """\
# chatcli bench

- Fast 9000, 8 logical processors, 4 used, 16.0 GB; load 0.25 at the start
- Linux-6.1, Python 3.11.7
- chatcli 1.2.3, llama-cpp-python 0.3.36: CPU : AVX2 = 1 | REPACK = 1 |, OpenMP spin 1000
- device Vulkan0: a card
- 2026-01-02T03:04:05+00:00; 3 pairs in turn after one thrown away; windows of 512 tokens (prefill) and 128 (decode)

"""  # noqa: E501  # the report's own line

TABLE = """\
| case   | model | what           | unit     | chatcli                     | bare loop                   | compared                   | bar              |
|--------|-------|----------------|----------|-----------------------------|-----------------------------|----------------------------|------------------|
| help   |       | whole run      |          | 0.125 s (0.120 s - 0.130 s) |                             |                            | <= 0.150 s: pass |
| cold   | m:1b  | to first byte  |          | 0.600 s (0.500 s - 0.700 s) |                             |                            |                  |
| memory | m:1b  | resident, peak | MB       | 201 (200 - 202)             | 100 (100 - 100)             | +101 MB [+100 MB, +102 MB] | <= 80 MB: FAIL   |
| warm   | m:1b  | to first token |          | 22.0 ms (21.0 ms - 23.0 ms) | 20.0 ms (20.0 ms - 20.0 ms) | 1.100 [1.050, 1.150]       |                  |
| decode | m:1b  | depth 2,000    | tokens/s | 98.0 (97.0 - 99.0)          | 100.0 (100.0 - 100.0)       | 0.980 [0.970, 0.990]       | >= 0.97: pass    |

Medians (least - greatest). Compared: the median of the pairs' ratios or differences, with an interval that covers the true one with 75.0 % (order statistics).
"""  # noqa: E501  # the report's own lines

CHANGE = """\
Change since 2026-01-02T03:04:05+00:00

| case   | model | what           | before                      | now                         | change   | verdict           |
|--------|-------|----------------|-----------------------------|-----------------------------|----------|-------------------|
| help   |       | whole run      | 0.125 s (0.120 s - 0.130 s) | 0.125 s (0.120 s - 0.130 s) | +0.0 %   | within the spread |
| cold   | m:1b  | to first byte  | 0.600 s (0.500 s - 0.700 s) | 0.600 s (0.500 s - 0.700 s) | +0.0 %   | within the spread |
| memory | m:1b  | resident, peak | 201 (200 - 202)             | 201 (200 - 202)             | +0.0 %   | within the spread |
| warm   | m:1b  | to first token | 22.0 ms (21.0 ms - 23.0 ms) | 22.0 ms (21.0 ms - 23.0 ms) | +0.0 %   | within the spread |
| decode | m:1b  | depth 2,000    | 98.0 (97.0 - 99.0)          | 196.0 (194.0 - 198.0)       | +100.0 % | better            |
"""  # noqa: E501  # the report's own lines


def test_the_report_reads_like_this() -> None:
    """Facts, one line for each result, how to read the numbers."""
    assert markdown(report()).startswith(SNAPSHOT)
    assert markdown(report()).removeprefix(SNAPSHOT) == TABLE


def test_the_change_reads_like_this() -> None:
    """Only what was measured both times; better and worse only beyond the spread."""
    text = markdown(report(speed=2.0), report())
    assert text.startswith(SNAPSHOT)
    assert text.partition("\n## ")[2] == CHANGE


def test_nothing_in_common_is_said() -> None:
    """A comparison of other cases or models shows no empty table."""
    other = replace(report(), results=report().results[:1])
    text = markdown(replace(report(), results=report().results[1:]), other)
    assert text.endswith("\nNothing was measured both times.\n")


def test_empty_columns_are_left_out() -> None:
    """A run of one case without partner or bar has no columns for them."""
    assert table(("a", "b", "c"), [("1", "", "x|y")]) == [
        "| a | c    |",
        "|---|------|",
        "| 1 | x\\|y |",
    ]


def test_json_can_be_read_back() -> None:
    """Every measurement survives, and what follows from them is the same."""
    assert from_json(to_json(report()), "f") == report()


def test_json_says_what_follows_from_the_numbers() -> None:
    """Scripts need not compute medians, ratios and verdicts themselves."""
    found = json.loads(to_json(report(speed=0.5), report()))
    decode = found["results"][-1]
    assert decode["spread"]["median"] == 49.0
    assert decode["ratio"]["median"] == pytest.approx(0.49)
    assert decode["passed"] is False
    assert found["results"][1]["passed"] is None
    assert found["since"] == report().date
    assert found["changes"][-1]["change"] == pytest.approx(-0.5)
    assert found["changes"][-1]["verdict"] == "worse"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"format": 2}',
        to_json(report()).replace('"ours": [', '"ours": ["x",', 1),
    ],
)
def test_what_is_no_report_is_refused(text: str) -> None:
    """The file is named, and how to make one."""
    with pytest.raises(InputError, match=r"old\.json is not a report of chatcli bench"):
        from_json(text, "old.json")


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=9), st.floats(0.01, 100))
def test_a_change_and_its_way_back_are_opposite(values: list[float], factor: float) -> None:
    """What is better one way is worse the other way, or it is within the spread both ways."""
    made = report()
    old = Result(case="c", unit="s", ours=tuple(values))
    new = Result(case="c", unit="s", ours=tuple(value * factor for value in values))
    there = changes(replace(made, results=(new,)), replace(made, results=(old,)))[0].verdict
    back = changes(replace(made, results=(old,)), replace(made, results=(new,)))[0].verdict
    opposite = {"better": "worse", "worse": "better", "within the spread": "within the spread"}
    assert back == opposite[there]
    if there != "within the spread":
        assert there == ("better" if factor < 1 else "worse")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.23456, "s", "1.235 s"),
        (0.0213, "s", "21.3 ms"),
        (123.456, "tokens/s", "123.5"),
        (4.5678, "tokens/s", "4.57"),
        (54.6, "MB", "55"),
    ],
)
def test_a_number_has_the_digits_that_it_deserves(value: float, unit: str, text: str) -> None:
    """Milliseconds below a tenth of a second; whole megabytes."""
    assert number(value, unit) == text
