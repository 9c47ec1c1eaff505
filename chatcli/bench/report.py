"""From results to text: Markdown for people, JSON for programs, and the change between two.

Pure: what goes in is data, what comes out is text.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from chatcli.bench.machine import Machine
from chatcli.bench.result import BETTER_UP, Bar, Result
from chatcli.bench.spread import Interval, Spread
from chatcli.bench.subject import Effort
from chatcli.core.errors import InputError

FORMAT = 1
"""Version of the JSON."""

Json: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Report:
    """All results of one run, and what they depend on. `date` is ISO 8601, in UTC."""

    machine: Machine
    effort: Effort
    date: str
    results: tuple[Result, ...]


# -- numbers -----------------------------------------------------------------------------


def number(value: float, unit: str) -> str:
    """Write a value with the digits that its unit deserves: 0.412 s, 1.3 ms, 89.1, 240."""
    if unit == "s" and abs(value) < 0.1:
        return f"{1000 * value:.1f} ms"
    if unit == "s":
        return f"{value:.3f} s"
    if unit == "tokens/s":
        return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    return f"{value:.0f}"


def _spread(found: Spread | None, unit: str) -> str:
    if found is None:
        return ""
    inside = f"{number(found.low, unit)} - {number(found.high, unit)}"
    return f"{number(found.median, unit)} ({inside})"


def _compared(result: Result) -> str:
    """Write the ratio or difference that is judged, with its interval."""
    if result.ratio is None or result.difference is None:
        return ""
    if result.bar is not None and result.bar.judged == "difference":
        found, write = result.difference, f"{{:+.0f}} {result.unit}"
    else:
        found, write = result.ratio, "{:.3f}"
    low, high = write.format(found.low), write.format(found.high)
    return f"{write.format(found.median)} [{low}, {high}]"


def _bar(bar: Bar | None, unit: str, *, passed: bool | None) -> str:
    if bar is None:
        return ""
    more = unit in BETTER_UP
    limit = f"{bar.limit:g}" if bar.judged == "ratio" else number(bar.limit, unit)
    suffix = f" {unit}" if bar.judged != "ratio" and unit == "MB" else ""
    return f"{'>=' if more else '<='} {limit}{suffix}: {'pass' if passed else 'FAIL'}"


# -- Markdown ----------------------------------------------------------------------------


def markdown(report: Report, against: "Report | None" = None) -> str:
    """Return the report as Markdown; with `against`, the change since that one as well."""
    lines = [
        "# chatcli bench",
        "",
        *_facts(report),
        "",
        *table(
            ("case", "model", "what", "unit", "chatcli", "bare loop", "compared", "bar"),
            [_row(result) for result in report.results],
        ),
        "",
        _legend(report),
    ]
    if against is not None:
        lines += ["", f"## Change since {against.date}", "", *_change(report, against)]
    return "\n".join(lines) + "\n"


def _facts(report: Report) -> list[str]:
    m, effort = report.machine, report.effort
    spin = f", OpenMP spin {m.openmp_spin}" if m.openmp_spin else ""
    return [
        (
            f"- {m.processor}, {m.n_logical} logical processors, {m.n_cores} used,"
            f" {m.memory_bytes / 1e9:.1f} GB; load {m.load:g} at the start"
        ),
        f"- {m.system}, Python {m.python}",
        f"- chatcli {m.chatcli}, {m.library}: {m.features}{spin}",
        *(f"- device {device}" for device in m.devices),
        (
            f"- {report.date}; {effort.pairs} pairs in turn after one thrown away;"
            f" windows of {effort.n_prefill} tokens (prefill) and {effort.n_decode} (decode)"
        ),
    ]


def _row(result: Result) -> tuple[str, ...]:
    unit = result.unit
    return (
        result.case,
        result.model,
        result.what,
        "" if unit == "s" else unit,
        _spread(result.spread, unit),
        _spread(result.other_spread, unit),
        _compared(result),
        _bar(result.bar, unit, passed=result.passed),
    )


def _legend(report: Report) -> str:
    found = [result.ratio for result in report.results if result.ratio]
    least = min((one.coverage for one in found), default=None)
    text = "Medians (least - greatest)."
    if least is not None:
        text += (
            " Compared: the median of the pairs' ratios or differences, with an interval that"
            f" covers the true one with {100 * least:.1f} % (order statistics)."
        )
    return text


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table, in columns that line up; empty columns are left out."""
    kept = [at for at in range(len(head)) if not rows or any(row[at] for row in rows)]
    cells = [[row[at].replace("|", "\\|") for at in kept] for row in (head, *rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(kept))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return lines


@dataclass(frozen=True, slots=True)
class Change:
    """A result that was found before and now; `change` is 0.1 for a tenth more."""

    past: Result
    now: Result
    change: float
    verdict: str


def changes(now: Report, before: Report) -> list[Change]:
    """Return what was measured both times, in the order of now."""
    old = {(r.case, r.model, r.what, r.unit): r for r in before.results}
    found = []
    for result in now.results:
        past = old.get((result.case, result.model, result.what, result.unit))
        if past is not None and past.spread.median:
            change = result.spread.median / past.spread.median - 1
            found.append(Change(past, result, change, verdict(past, result)))
    return found


def _change(now: Report, before: Report) -> list[str]:
    found = changes(now, before)
    if not found:
        return ["Nothing was measured both times."]
    rows = [
        (
            one.now.case,
            one.now.model,
            one.now.what,
            _spread(one.past.spread, one.past.unit),
            _spread(one.now.spread, one.now.unit),
            f"{100 * one.change:+.1f} %",
            one.verdict,
        )
        for one in found
    ]
    return table(("case", "model", "what", "before", "now", "change", "verdict"), rows)


def verdict(past: Result, now: Result) -> str:
    """Say better or worse only where no measurement of one run lies among the other's."""
    a, b = past.spread, now.spread
    if a.low <= b.high and b.low <= a.high:
        return "within the spread"
    return "better" if (b.median > a.median) == (now.unit in BETTER_UP) else "worse"


# -- JSON --------------------------------------------------------------------------------


def to_json(report: Report, against: Report | None = None) -> str:
    """Return the report as JSON: every measurement, what follows, and the change."""
    found: dict[str, object] = {
        "format": FORMAT,
        "date": report.date,
        "machine": asdict(report.machine),
        "effort": asdict(report.effort),
        "results": [_as_json(result) for result in report.results],
    }
    if against is not None:
        found["since"] = against.date
        found["changes"] = [
            {
                "case": one.now.case,
                "model": one.now.model,
                "what": one.now.what,
                "before": one.past.spread.median,
                "now": one.now.spread.median,
                "change": one.change,
                "verdict": one.verdict,
            }
            for one in changes(report, against)
        ]
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _as_json(result: Result) -> Json:
    def summed(found: Spread | Interval | None) -> Json | None:
        return None if found is None else asdict(found)

    return {
        "case": result.case,
        "model": result.model,
        "what": result.what,
        "unit": result.unit,
        "ours": result.ours,
        "against": result.against,
        "other": result.other,
        "facts": dict(result.facts),
        "bar": None if result.bar is None else asdict(result.bar),
        "spread": summed(result.spread),
        "other_spread": summed(result.other_spread),
        "ratio": summed(result.ratio),
        "difference": summed(result.difference),
        "passed": result.passed,
    }


def from_json(text: str, name: str) -> Report:
    """Read a report back; `name` is the file's, for the error.

    Raises:
        InputError: it is not such a report.
    """
    try:
        return _report(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{name} is not a report of chatcli bench: {error}",
            "Make one with: chatcli bench --json -o FILE",
        ) from error


def _report(found: Mapping[str, Any]) -> Report:
    if found["format"] != FORMAT:
        raise ValueError(f"its format is {found['format']}, this version reads {FORMAT}")
    machine = {**found["machine"], "devices": tuple(found["machine"]["devices"])}
    effort = {**found["effort"], "depths": tuple(found["effort"]["depths"])}
    results = tuple(map(_result, found["results"]))
    return Report(Machine(**machine), Effort(**effort), found["date"], results)


def _result(found: Mapping[str, Any]) -> Result:
    known = {name: found[name] for name in ("case", "model", "what", "unit", "against")}
    result = Result(
        **known,
        ours=tuple(found["ours"]),
        other=tuple(found["other"]),
        bar=None if found["bar"] is None else Bar(**found["bar"]),
        facts=tuple(found["facts"].items()),
    )
    _summed_up(result)
    return result


def _summed_up(result: Result) -> None:
    """Find out now whether the numbers are numbers, and as many on both sides."""
    _row(result)
