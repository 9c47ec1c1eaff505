"""Child processes of the set-up: their output goes to a log, their lines to a listener.

A child never reads the terminal and never outlives the set-up.
"""

from __future__ import annotations

import os
import re
import selectors
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from .failure import SetupError

TICK_S = 0.25
N_COMPLAINT = 6
N_LAST = 6
_COMPLAINT = re.compile(r"CMake Error|FAILED:|error:|ERROR:|Error: |Killed signal")
# What pip wraps around the output of a failed build.
_NOISE = ("note: This", "hint: See", "╰─>", "│ exit", "[end of output]", "error: subprocess-")
_OFFLINE = "the package index cannot be reached: check the network, the proxy and pip's settings"
_REMEDIES = {
    "No space left on device": "the disk is full: free some space and run the same command again",
    "DO NOT MATCH THE HASHES": (
        "a download differs from the lock file: check the package index in use, or its mirror"
    ),
    "NewConnectionError": _OFFLINE,
    "Temporary failure in name resolution": _OFFLINE,
    "No matching distribution": _OFFLINE,
    "Killed signal terminated program": (
        "the compiler ran out of memory: set CMAKE_BUILD_PARALLEL_LEVEL=1 and run it again"
    ),
}


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The user's environment without what would send pip or Python somewhere else."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name
        not in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_HASHES")
    }
    environment.update(PIP_USER="0", PIP_NO_INPUT="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
    environment.update(PIP_ROOT_USER_ACTION="ignore", PYTHONUNBUFFERED="1", LC_ALL="C.UTF-8")
    environment.update(extra or {})
    return environment


def run_logged(
    command: Sequence[str | Path],
    *,
    log: Path,
    failed: str,
    environment: Mapping[str, str],
    folder: Path,
    on_line: Callable[[str], None],
    on_tick: Callable[[], None],
) -> None:
    """Run a command to its end, appending all it prints to `log`.

    Raises:
        SetupError: it ended with another code than 0; the message begins with `failed`.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("ab") as sink,
        subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
        ) as child,
    ):
        began = log.stat().st_size
        sink.write(f"$ {' '.join(str(part) for part in command)}\n".encode())
        try:
            assert child.stdout is not None
            _pump(child.stdout, sink, on_line, on_tick)
            code = child.wait()
        except BaseException:
            child.terminate()
            raise
    if code != 0:
        raise SetupError(*_explained(failed, log, began))


def _pump(
    source: IO[bytes], sink: IO[bytes], on_line: Callable[[str], None], on_tick: Callable[[], None]
) -> None:
    """Copy `source` to `sink` until its end, calling `on_tick` every quarter of a second."""
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_READ)
        while True:
            if not selector.select(TICK_S):
                on_tick()
                continue
            chunk = os.read(source.fileno(), 65536)
            if not chunk:
                return
            sink.write(chunk)
            sink.flush()
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                on_line(line.decode(errors="replace").strip())
            on_tick()


def _explained(failed: str, log: Path, began: int) -> tuple[str, str]:
    """What failed, with the first complaint and the last lines of the output, and what to do."""
    with log.open("rb") as stream:
        stream.seek(began)
        output = stream.read().decode(errors="replace")
    told = (line.strip() for line in output.splitlines()[1:])
    lines = [
        line for line in told if line and not line.startswith((*_NOISE, "\N{MULTIPLICATION SIGN}"))
    ][-200:]
    at = next((i for i, line in enumerate(lines) if _COMPLAINT.search(line)), len(lines))
    rest = lines[max(at + N_COMPLAINT, len(lines) - N_LAST) :]
    shown = "".join(f"    {line}\n" for line in lines[at : at + N_COMPLAINT] + rest)
    return f"{failed}:\n{shown}  the whole output is in {log}", _remedy("\n".join(lines))


def _remedy(text: str) -> str:
    for sign, remedy in _REMEDIES.items():
        if sign in text:
            return remedy
    return "run the same command again; what is done already is kept"
