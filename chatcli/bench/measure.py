"""Taking times: pairs in turn, and child processes of the program itself.

Knows clocks and processes. Does not know models or what is being compared.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from chatcli.core.errors import ChatcliError

CUT_OFF = 4
"""Exit code of an answer that reached `--max-tokens`, which is what a measurement wants."""
_MB = 1e6


class BenchError(ChatcliError):
    """Something that was to be measured did not work."""


def in_turn(
    pairs: int,
    ours: Callable[[], float],
    other: Callable[[], float],
    *,
    tick: Callable[[int], None] = lambda _: None,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Measure A B A B ...: what disturbs the machine for a while then disturbs both.

    One pair more is run first and thrown away: caches fill and contexts grow there.
    """
    taken: list[tuple[float, float]] = []
    for at in range(pairs + 1):
        tick(at)
        taken.append((ours(), other()))
    return tuple(a for a, _ in taken[1:]), tuple(b for _, b in taken[1:])


def repeated(
    times: int, once: Callable[[], float], *, tick: Callable[[int], None] = lambda _: None
) -> tuple[float, ...]:
    """Measure one thing `times` times, after a run that is thrown away."""
    taken = []
    for at in range(times + 1):
        tick(at)
        taken.append(once())
    return tuple(taken[1:])


# -- child processes -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Program:
    """How chatcli is started in a child, apart from the user's own files."""

    environ: Mapping[str, str]

    def command(self, *args: str) -> list[str]:
        """Return the command line of chatcli with `args`."""
        return [sys.executable, "-m", "chatcli", *args]


@contextmanager
def program(settings: Mapping[str, str] | None = None) -> Iterator[Program]:
    """Give a program whose sessions, logs and caches vanish at the end.

    It has default settings, apart from the variables in `settings`.

    Bytecode is written as in any installation, whatever this process was told.
    """
    with tempfile.TemporaryDirectory(prefix="chatcli-bench-") as folder:
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("CHATCLI_") and name != "PYTHONDONTWRITEBYTECODE"
        }
        for name in ("CONFIG", "DATA", "CACHE", "STATE"):
            environ[f"XDG_{name}_HOME"] = str(Path(folder) / name.lower())
        environ |= settings or {}
        package = str(Path(__file__).resolve().parents[2])
        known = environ.get("PYTHONPATH")
        environ["PYTHONPATH"] = f"{package}{os.pathsep}{known}" if known else package
        yield Program(environ)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a child: seconds from its start, and memory in bytes (0: unknown)."""

    first_byte_s: float
    total_s: float
    peak_bytes: int = 0
    end_bytes: int = 0


def watch(command: Sequence[str], environ: Mapping[str, str], *, hold: bool = False) -> Seen:
    """Run `command` and watch its stdout; at each piece that comes, look at its memory.

    With `hold` the child's stdin stays open until it has been looked at once.

    Raises:
        BenchError: it fails or says nothing.
    """
    with tempfile.TemporaryFile() as aside:
        began = time.perf_counter()
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE if hold else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=aside,
            env=dict(environ),
        ) as child:
            assert child.stdout is not None  # noqa: S101  # a pipe was asked for
            said, first, peak, end = b"", 0.0, 0, 0
            while piece := os.read(child.stdout.fileno(), 65536):
                first = first or time.perf_counter() - began
                end, peak = _at_least((end, peak), resident(child.pid))
                said += piece
                if child.stdin is not None:
                    child.stdin.close()
        total = time.perf_counter() - began
        if child.returncode not in (0, CUT_OFF) or not said:
            raise BenchError(
                f"{' '.join(command[1:5])} ended with {child.returncode}: {_last_line(aside)}"
            )
    return Seen(first, total, peak, end)


def _at_least(seen: tuple[int, int], now: tuple[int, int]) -> tuple[int, int]:
    """Keep the last size and the greatest peak; a process that is gone says nothing."""
    return (now[0], max(seen[1], now[1])) if now[0] else seen


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "nothing was said"


def resident(pid: int) -> tuple[int, int]:
    """Return a process's resident memory now and at its peak, in bytes; 0 where unknown.

    Where there is no /proc, `ps` says what it is now, and that stands for the peak too.
    """
    found = {"VmRSS": 0, "VmHWM": 0}
    try:
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            name, _, rest = line.partition(":")
            if name in found:
                found[name] = int(rest.split()[0]) * 1024
    except OSError:
        now = _resident_by_ps(pid)
        return now, now
    return found["VmRSS"], found["VmHWM"]


def _resident_by_ps(pid: int) -> int:
    try:
        done = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], check=False, capture_output=True, text=True
        )
        return int(done.stdout.strip() or 0) * 1024
    except (OSError, ValueError):
        return 0


def megabytes(n_bytes: float) -> float:
    """Return bytes as megabytes (10^6)."""
    return n_bytes / _MB
