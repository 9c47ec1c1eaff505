"""Opening a model: self-test, GPU layers, a first context, and what to do when it fails."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chatcli.core.errors import CorruptModel, LoadError
from chatcli.engine import binding, probe
from chatcli.engine.binding import Model
from chatcli.engine.cells import FIRST_CELLS, CellOptions, Cells
from chatcli.engine.fit import context_limit, gpu_layers, total_kv_bytes_per_token
from chatcli.gguf import Header, read_header
from chatcli.settings import ContextSettings, EngineSettings

FIT_CONTEXT = 4096
"""Context, in tokens, that the GPU fit leaves room for when none is fixed."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A model ready to evaluate, and what the user should know about how it was loaded."""

    model: Model
    cells: Cells
    gpu_layers: int
    notices: tuple[str, ...]


def open_model(
    path: Path,
    engine: EngineSettings,
    context: ContextSettings,
    log: Callable[[int, str], None],
    go_on: Callable[[], bool] = lambda: True,
) -> Opened:
    """Load `path` as fast and as far onto the GPU as this machine allows.

    `log` gets llama.cpp's own lines; `go_on` is asked while loading. Out of device memory,
    fewer layers are tried, down to none, and a notice says so.

    Raises:
        CorruptModel: the file is damaged.
        LoadError: llama.cpp refuses it, or it does not fit into memory.
    """
    errors = _Errors(log)
    binding.set_log(errors.write)
    notices: list[str] = []
    outcome = probe.check(path)
    if outcome.state == "fallback":
        notices.append(
            f"Slower than it could be ({outcome.detail} in the self-test): {probe.REMEDY}"
        )
    if outcome.state == "dead":
        raise LoadError(f"llama.cpp dies on this machine with {outcome.detail}", probe.REMEDY)
    wanted = _wanted_layers(path, engine, context)
    n = wanted
    while True:
        try:
            repack = outcome.state == "ok"
            model, cells = _try(path, engine, context, n, go_on, repack=repack)
        except LoadError:
            if n == 0 or not go_on():
                raise _explained(path, errors) from None
            n = _fewer(n, path)
            continue
        if n != wanted:
            notices.append(f"Not enough GPU memory: {n} layers on the GPU, the rest on the CPU")
        return Opened(model, cells, n, tuple(notices))


class _Errors:
    """Passes the log on and keeps its last error line, for the message to the user."""

    def __init__(self, log: Callable[[int, str], None]) -> None:
        self._log = log
        self.last = ""

    def write(self, level: int, text: str) -> None:
        if level == 4 and "failed to load model" not in text and text.strip():
            self.last = text.strip()
        self._log(level, text)


def gpu_devices() -> list[binding.Device]:
    """Return the devices that layers can be put on, [] for a CPU build."""
    if not binding.can_offload():
        return []
    return [device for device in binding.devices() if device.kind in ("gpu", "igpu")]


def _wanted_layers(path: Path, engine: EngineSettings, context: ContextSettings) -> int:
    devices = gpu_devices()
    if not devices:
        return 0
    if engine.gpu_layers is not None:
        return engine.gpu_layers
    return gpu_layers(
        read_header(path),
        [device.free_bytes for device in devices],
        n_ctx=context.size or FIT_CONTEXT,
        kv_type=engine.kv_type,
        n_batch=engine.batch,
    )


def _fewer(n: int, path: Path) -> int:
    """Return the next smaller number of layers to try: three quarters, then none."""
    if n < 0:
        n = read_header(path).n_layers + 1
    return n * 3 // 4 if n > 2 else 0  # below two it is not worth a try


def _try(
    path: Path,
    engine: EngineSettings,
    context: ContextSettings,
    n_gpu_layers: int,
    go_on: Callable[[], bool],
    *,
    repack: bool,
) -> tuple[Model, Cells]:
    model = Model(path, gpu_layers=n_gpu_layers, use_extra_bufts=repack, progress=lambda _: go_on())
    try:
        options = CellOptions(
            limit=_limit(model, path, engine, context),
            fixed=context.size is not None,
            batch=engine.batch,
            threads=engine.threads or default_threads(),
            kv_type=engine.kv_type,
            flash_attention=engine.flash_attention,
        )
        cells = Cells(model, options)
        cells.make_room(min(FIRST_CELLS, options.limit))
    except LoadError:
        model.close()
        raise
    return model, cells


def _limit(model: Model, path: Path, engine: EngineSettings, context: ContextSettings) -> int:
    """Return the most cells: what the user fixed, else what model and memory allow."""
    trained = model.n_ctx_train or 1 << 20
    if context.size is not None:
        return min(context.size, trained)
    free = free_memory()
    if free is None or gpu_devices():
        return trained
    # A short way out for small contexts: the header is only read when it could matter.
    if free > trained * _WIDEST_BYTES:
        return trained
    return context_limit(total_kv_bytes_per_token(read_header(path), engine.kv_type), free, trained)


_WIDEST_BYTES = 1 << 20
"""No common model has more KV bytes per token than this (Llama 3 70B: 320 KiB)."""


def default_threads() -> int:
    """Return the number of physical cores that this process may use.

    Decoding is bound by memory: sibling hyperthreads only disturb each other.
    """
    try:
        usable = sorted(os.sched_getaffinity(0))
    except AttributeError:
        return max(1, (os.cpu_count() or 2) // 2)
    siblings = set()
    for cpu in usable:
        file = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            siblings.add(file.read_text(encoding="ascii").strip())
        except OSError:
            siblings.add(str(cpu))
    return max(1, len(siblings))


def free_memory() -> int | None:
    """Return the main memory that can be used without swapping, in bytes; None: unknown."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def _explained(path: Path, errors: _Errors) -> LoadError | CorruptModel:
    """Find out why a model did not load, and say what to do."""
    try:
        header: Header = read_header(path)
        header.check_complete()
    except CorruptModel as corrupt:
        return corrupt
    detail = f": {errors.last}" if errors.last else ""
    if "unknown model architecture" in errors.last:
        hint = "A newer llama-cpp-python may know it: pip install -U llama-cpp-python"
    else:
        hint = "Choose a smaller model or context (--ctx-size), or see llama.log"
    return LoadError(f"llama.cpp could not load {path.name}{detail}", hint)
