"""The facts that a figure depends on: processor, memory, system, Python, library build."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from chatcli import __version__
from chatcli.engine import binding
from chatcli.engine.load import default_threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where a report comes from. `load` is the load average before the first case."""

    chatcli: str
    processor: str
    n_logical: int
    n_cores: int
    memory_bytes: int
    system: str
    python: str
    library: str
    features: str
    devices: tuple[str, ...]
    openmp_spin: str
    load: float


def this_machine() -> Machine:
    """Look at this machine and at the llama.cpp library in use."""
    features = " ".join(binding.system_info().split())  # loads the library, which sets the spin
    return Machine(
        chatcli=__version__,
        processor=processor(),
        n_logical=os.cpu_count() or 0,
        n_cores=default_threads(),
        memory_bytes=_memory_bytes(),
        system=platform.platform(),
        python=platform.python_version(),
        library=f"llama-cpp-python {_version('llama-cpp-python')}",
        features=features,
        devices=tuple(
            f"{device.name}: {device.description}"
            for device in binding.devices()
            if device.kind != "cpu"
        ),
        openmp_spin=os.environ.get("GOMP_SPINCOUNT", ""),
        load=_load(),
    )


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name, as well as this system tells it."""
    try:
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            name, _, rest = line.partition(":")
            if name.strip() == "model name":
                return rest.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 0


def _load() -> float:
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return 0.0


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"
