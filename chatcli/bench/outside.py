"""Cases that look at the program from outside: a child process, its first byte, its memory."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from chatcli.bench.measure import Program, Seen, in_turn, megabytes, program, repeated, watch
from chatcli.bench.raw import RawOptions
from chatcli.bench.result import Bar, Result
from chatcli.bench.subject import Subject
from chatcli.settings import Settings

QUESTION = "Why is the sky blue?"
HELP_S = 0.15
"""`chatcli --help` feels instant."""
MEMORY_MB = 80.0
"""What Python and all the rest of chatcli may hold beside the bare loop's memory."""


def help_case(subject: Subject) -> Iterator[Result]:
    """Time `chatcli --help`, start to end."""
    with program() as chatcli:
        command = chatcli.command("--help")
        walls = repeated(
            subject.effort.pairs,
            lambda: watch(command, chatcli.environ).total_s,
            tick=subject.ticker("help"),
        )
    yield Result(case="help", what="whole run", unit="s", ours=walls, bar=Bar("value", HELP_S))


def cold(subject: Subject) -> Iterator[Result]:
    """Time a one-shot from the start of its process to the first byte of the answer."""
    with program(_settings(subject)) as chatcli:
        command = _ask(subject, chatcli, QUESTION, 8)
        firsts = repeated(
            subject.effort.pairs,
            lambda: watch(command, chatcli.environ).first_byte_s,
            tick=subject.ticker("cold"),
        )
    yield Result(case="cold", model=subject.name, what="to first byte", unit="s", ours=firsts)


def _ask(subject: Subject, chatcli: Program, prompt: str, n_tokens: int) -> list[str]:
    """Return the command of a one-shot."""
    # Without stored state: each run is to evaluate the same question, not to find it done.
    options = ["-m", str(subject.path), "--max-tokens", str(n_tokens), "--offline", "--no-kv"]
    return chatcli.command("ask", *options, "--", prompt)


def _settings(subject: Subject) -> dict[str, str]:
    """Return the variables that give a child the subject's engine and context settings.

    Defaults are left out: a child without them starts as everybody's does.
    """
    default, found = Settings(), {}
    for group in ("engine", "context"):
        for one in fields(getattr(default, group)):
            value = getattr(getattr(subject.settings, group), one.name)
            if value != getattr(getattr(default, group), one.name):
                found[f"CHATCLI_{group}_{one.name}".upper()] = str(value)
    return found


def memory(subject: Subject) -> Iterator[Result]:
    """Compare the memory of a one-shot's process with that of the bare loop's."""
    rig, effort = subject.rig, subject.effort
    scene = rig.prefill_scene(0, effort.n_prefill)
    rig.cells.make_room(len(scene.ids) + effort.n_decode)
    options = rig.raw_options(len(scene.ids), effort.n_decode)
    prompt = rig.text_of(effort.n_prefill)
    subject.close()  # the children need the room
    ours: list[Seen] = []
    raw: list[Seen] = []
    tick = subject.ticker("memory")
    with program(_settings(subject)) as chatcli:
        command = _ask(subject, chatcli, prompt, effort.n_decode)

        def one() -> float:
            ours.append(watch(command, chatcli.environ))
            return 0.0

        def other() -> float:
            raw.append(_raw_child(subject.path, options, chatcli))
            return 0.0

        in_turn(effort.pairs, one, other, tick=tick)
    if not all(seen.peak_bytes for seen in (*ours, *raw)):
        subject.say("memory: this system does not say how much a process uses")
        return
    yield _memory_result(subject, "peak", [s.peak_bytes for s in ours], [s.peak_bytes for s in raw])
    yield _memory_result(subject, "end", [s.end_bytes for s in ours], [s.end_bytes for s in raw])


def _raw_child(path: Path, options: RawOptions, chatcli: Program) -> Seen:
    command = [sys.executable, "-m", "chatcli.bench.raw", str(path), options.as_text()]
    return watch(command, chatcli.environ, hold=True)


def _memory_result(subject: Subject, when: str, ours: Sequence[int], raw: Sequence[int]) -> Result:
    return Result(
        case="memory",
        model=subject.name,
        what=f"resident, {when}",
        unit="MB",
        ours=tuple(map(megabytes, ours[1:])),
        against="raw",
        other=tuple(map(megabytes, raw[1:])),
        bar=Bar("difference", MEMORY_MB),
    )
