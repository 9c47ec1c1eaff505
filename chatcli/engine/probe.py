"""Does this library run on this machine? Asked once, in a child process that may die.

A build for another processor, or for instructions that the processor advertises but the
hypervisor forbids (AMX in some guests: ggml-org/llama.cpp #28756, #28328), ends in SIGILL at
the first evaluation. A child evaluates a few tokens first; if it dies, it tries again
without the repacked weight buffers, which are what uses such instructions.
"""

import hashlib
import os
import platform
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from chatcli.core.errors import CorruptModel, LoadError
from chatcli.engine.binding import Model, library_files, set_log
from chatcli.engine.context import Context
from chatcli.engine.remember import recall, remember
from chatcli.gguf import read_header
from chatcli.paths import cache_dir

TIMEOUT_S = 600
"""A large model on a slow disk takes minutes to load the first time."""

REMEDY = (
    "the library was built with instructions that this processor cannot run; `make chat` in a"
    " clone builds one that fits, or set CFLAGS='-mno-amx-tile -mno-amx-int8 -mno-amx-bf16'"
    " and CXXFLAGS to the same, then: pip install --force-reinstall --no-cache-dir"
    " llama-cpp-python"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the self-test found. `fallback`: works without the repacked buffers only."""

    state: Literal["ok", "fallback", "dead"]
    detail: str = ""


def library_and_machine() -> str:
    """Return a key for this pair of library files and processor."""
    parts = [platform.machine(), platform.system(), _processor()]
    for file in library_files():
        stat = file.stat()
        parts.append(f"{file.name} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _processor() -> str:
    """Return the processor's model and features, as Linux states them for the first core."""
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8") as file:
        head = file.read(8192).split("\n\n")[0]
        lines = head.splitlines()
        return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Feat")))
    return platform.processor()


class Memory:
    """The outcomes so far, by (library, machine) and kind of weights, in a small file.

    Flat keys: ``<pair> file <file>`` holds the kind of its weights, ``<pair> kind <kind>``
    the state and detail.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file or cache_dir() / "self-test.json"
        self._facts = recall(self._file)

    def get(self, pair: str, kind: str) -> Outcome | None:
        """Return what was found for a kind of weights, None if it was not tried."""
        match self._facts.get(f"{pair} kind {kind}"):
            case ["ok" | "fallback" | "dead" as state, str(detail)]:
                return Outcome(state, detail)
        return None

    def kind_of(self, pair: str, file: str) -> str | None:
        """Return the kind of weights in a file seen before."""
        kind = self._facts.get(f"{pair} file {file}")
        return kind if isinstance(kind, str) else None

    def put(self, pair: str, file: str, kind: str, outcome: Outcome) -> None:
        """Remember an outcome."""
        self._facts[f"{pair} file {file}"] = kind
        self._facts[f"{pair} kind {kind}"] = [outcome.state, outcome.detail]
        remember(self._file, self._facts)


def _file_key(path: Path) -> str:
    stat = path.stat()
    return f"{path} {stat.st_size} {stat.st_mtime_ns}"


def _kind(path: Path) -> str:
    """Return the types of the weights: which kernels run depends on them."""
    types = {tensor.type.name for tensor in read_header(path).tensors}
    return " ".join(sorted(types))


def check(path: Path, memory: Memory | None = None, *, again: bool = False) -> Outcome:
    """Return what the self-test says for this library, this machine and this model's weights.

    Run once for each of them; afterwards it costs a look into a small file.

    Raises:
        CorruptModel: the header cannot be read.
    """
    memory = memory or Memory()
    pair = library_and_machine()
    try:
        file = _file_key(path)
    except OSError as error:
        raise LoadError(f"cannot read {path}: {error.strerror}") from error
    kind = memory.kind_of(pair, file)
    if kind is not None and not again and (known := memory.get(pair, kind)) is not None:
        return known
    kind = _kind(path)
    outcome = memory.get(pair, kind) if not again else None
    if outcome is None:
        outcome = run_children(path)
        if outcome is None:
            return Outcome("ok")  # the model could not be loaded at all: loading will say why
    memory.put(pair, file, kind, outcome)
    return outcome


def run_children(path: Path) -> Outcome | None:
    """Try in a child, then without repacked buffers; None if the model cannot be loaded."""
    first = _child(path, repack=True)
    if first == 0:
        return Outcome("ok")
    if first > 0:
        return None
    name = _signal_name(first)
    second = _child(path, repack=False)
    if second == 0:
        return Outcome("fallback", name)
    return Outcome("dead", name)


def _child(path: Path, *, repack: bool) -> int:
    """Return the exit status of a self-test, negative if a signal ended it."""
    command = [sys.executable, "-m", "chatcli.engine.probe", str(path), str(int(repack))]
    package = Path(__file__).resolve().parents[2]
    known = os.environ.get("PYTHONPATH")
    path_value = f"{package}{os.pathsep}{known}" if known else str(package)
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,  # nothing is written: it breaks when this process ends
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path_value},
    ) as child:
        try:
            return child.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            return 1


def _signal_name(status: int) -> str:
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def self_test(path: Path, *, repack: bool) -> None:
    """Evaluate a batch and a single token on the CPU.

    Raises:
        LoadError: the model cannot be loaded, or the evaluation fails.
    """
    set_log(lambda _level, _text: None)
    model = Model(path, use_extra_bufts=repack)
    context = Context(model, 512, n_batch=64, threads=2)
    token = model.bos if model.bos is not None else 0
    codes = context.evaluate([token] * 32, 0), context.step(token, 32)
    context.close()
    model.close()
    if any(codes):
        raise LoadError(f"llama_decode failed with {codes}")


def _end_with_parent() -> None:
    """Leave when stdin ends: whoever asked has gone, in whatever way."""
    os.read(0, 1)  # not sys.stdin: at the end Python would wait for its lock
    os._exit(2)


def _main() -> int:
    path, repack = sys.argv[1:3]
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        self_test(Path(path), repack=repack == "1")
    except (LoadError, CorruptModel):
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(_main())
