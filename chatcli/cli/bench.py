"""`chatcli bench`: measure this machine."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chatcli.cli.completion import model_names
from chatcli.cli.options import _option, takes
from chatcli.core.errors import InputError, StorageError, UsageError
from chatcli.core.printable import visible_line
from chatcli.paths import expanded
from chatcli.settings import Settings

if TYPE_CHECKING:
    from chatcli.bench.cases import ModelFile
    from chatcli.bench.report import Report
    from chatcli.bench.result import Result

CASE_NAMES = ("help", "cold", "memory", "warm", "prefill", "decode", "raw")


def _cases(incomplete: str) -> list[str]:
    return [name for name in CASE_NAMES if name.startswith(incomplete)]


@dataclass(frozen=True, kw_only=True)
class Benched:
    """What was typed."""

    cases: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CASE]...",
            show_default=False,
            help=f"What to measure (default: all): {', '.join(CASE_NAMES)}.",
            autocompletion=_cases,
        ),
    ] = None
    models: Annotated[
        list[str] | None,
        _option("-m", "--model", text="Model to measure (repeatable).", autocompletion=model_names),
    ] = None
    pairs: Annotated[
        int | None, _option("--pairs", text="Measurements of each side (default: 7).")
    ] = None
    quick: Annotated[
        bool, _option("--quick", text="3 pairs and short windows: a look, not a claim.")
    ] = False
    threads: Annotated[int | None, _option("--threads", text="CPU threads.")] = None
    as_json: Annotated[bool, _option("--json", text="Print the report as JSON.")] = False
    compare: Annotated[
        str | None, _option("--compare", text="Show the change since this JSON report.")
    ] = None
    output: Annotated[
        str | None, _option("-o", "--output", text="Write the report into this file.")
    ] = None


def register(app: typer.Typer) -> None:
    """Add `bench` to the tree."""
    app.command("bench")(takes(Benched, run))


def run(benched: Benched) -> int:
    """Measure this machine: cold start, memory, prefill, decode."""
    from datetime import UTC, datetime

    from chatcli.bench import cases
    from chatcli.bench.machine import this_machine
    from chatcli.bench.report import Report, markdown, to_json
    from chatcli.bench.subject import QUICK, Effort
    from chatcli.cli.current import current_settings

    if benched.pairs is not None and benched.pairs < 1:
        raise UsageError("--pairs must be at least 1")
    names = cases.chosen(benched.cases or [])
    before = None if benched.compare is None else _read(benched.compare)
    effort = QUICK if benched.quick else Effort()
    if benched.pairs is not None:
        effort = replace(effort, pairs=benched.pairs)
    settings = current_settings({"engine.threads": benched.threads})
    files = _files(benched, settings) if any(cases.CASES[n].needs_model for n in names) else []
    machine = this_machine()
    results: tuple[Result, ...] = ()
    code = 0
    try:
        for result in cases.run(names, files, settings, effort, _say):
            results = (*results, result)
    except KeyboardInterrupt:
        _say("Stopped: the report has what was measured until now")
        code = 130
    date = datetime.now(UTC).isoformat(timespec="seconds")
    report = Report(machine, effort, date, results)
    text = to_json(report, before) if benched.as_json else markdown(report, before)
    _write(text, benched.output)
    return code


def _files(benched: Benched, settings: Settings) -> "list[ModelFile]":
    """Find the models named, or the default one; download what is not here."""
    from chatcli.bench.cases import ModelFile
    from chatcli.cli.first_run import ready_model

    wanted: list[str | None] = [*(benched.models or ())] or [None]
    found = [ready_model(reference, settings) for reference in wanted]
    names = [Path(one.name).name for one in found]
    clear = len(set(names)) == len(names)
    return [
        ModelFile(short if clear else one.name, one.path)
        for short, one in zip(names, found, strict=True)
    ]


def _read(path: str) -> "Report":
    from chatcli.bench.report import from_json

    try:
        text = expanded(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text") from error
    return from_json(text, path)


def _say(text: str) -> None:
    typer.echo(visible_line(text), err=True)


def _write(text: str, path: str | None) -> None:
    if path is None:
        typer.echo(text, nl=False)
        return
    try:
        expanded(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
