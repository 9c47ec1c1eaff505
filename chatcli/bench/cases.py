"""The table of cases, and running them.

A case is a name, a line of help and a generator of results. One that needs no model runs
once, the others once for each model. The order is that of a run: children first, while no
model of ours takes memory and caches from them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from chatcli.bench import inside, outside
from chatcli.bench.result import Result
from chatcli.bench.subject import Effort, Subject
from chatcli.core.errors import UsageError
from chatcli.core.nearest import nearest
from chatcli.settings import Settings


@dataclass(frozen=True, slots=True)
class Case:
    """A thing that can be measured."""

    text: str
    run: Callable[[Subject], Iterator[Result]]
    needs_model: bool = True


CASES = {
    "help": Case("`chatcli --help`, start to end", outside.help_case, needs_model=False),
    "cold": Case("a one-shot from process start to first byte", outside.cold),
    "memory": Case("resident memory beside the bare loop's", outside.memory),
    "warm": Case("a turn of a chat in progress, to its first token", inside.warm),
    "prefill": Case("evaluating a prompt, beside the bare loop", inside.prefill),
    "decode": Case("making a reply, beside the bare loop", inside.decode),
    "raw": Case("the bare loop alone", inside.raw),
}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model to measure: its name for the reader, and its file."""

    name: str
    path: Path


def chosen(names: Sequence[str]) -> list[str]:
    """Return the cases named, in the order of the table; all of them if none is.

    Raises:
        UsageError: there is no such case; names the nearest.
    """
    for name in names:
        if name not in CASES:
            guess = nearest(name, list(CASES))
            hint = f"Did you mean {guess}?" if guess else f"Cases: {', '.join(CASES)}"
            raise UsageError(f"there is no case {name!r}", hint)
    return [name for name in CASES if not names or name in names]


def run(
    names: Sequence[str],
    files: Sequence[ModelFile],
    settings: Settings,
    effort: Effort,
    say: Callable[[str], None],
) -> Iterator[Result]:
    """Run cases, yielding each result as it is found; `say` gets the progress.

    Raises:
        BenchError: something that was to be measured did not work.
    """
    without = [name for name in names if not CASES[name].needs_model]
    here = Subject("chatcli", Path(), settings, effort, say)
    for name in without:
        yield from CASES[name].run(here)
    for file in files:
        subject = Subject(file.name, file.path, settings, effort, say)
        try:
            for name in names:
                if name not in without:
                    yield from CASES[name].run(subject)
        finally:
            subject.close()
