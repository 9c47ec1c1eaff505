"""The native wheel of llama-cpp-python: found in the user's cache, or compiled from pinned sources.

The wheel is tagged py3-none, so one build serves every Python of a machine. It is kept in
`$XDG_CACHE_HOME/chatcli/build/KEY/` beside a record of its checksum, and taken only if both agree.
An interrupted compile goes on where it stopped: sources and objects stay under `.build/` until the
wheel is in the cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import lockfile, toolchain
from .console import Console, Progress
from .failure import SetupError
from .process import clean_environment, run_logged

NAME = "llama-cpp-python"
RECIPE = "1"  # to be raised when the way of building changes, so that old wheels are left alone
N_BYTES_NEEDED = 2_500_000_000  # sources 300 MB, objects 150 MB (CPU) to 2 GB (CUDA)
_NINJA = re.compile(r"^\[(\d+)/(\d+)\] ")
_USER_FLAGS = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CMAKE_ARGS")


@dataclass(frozen=True)
class Plan:
    """One build: where it works, what it builds, and with what."""

    root: Path
    python: Path
    backend: Path
    variant: str
    key: str

    @property
    def work(self) -> Path:
        """The folder of sources and objects."""
        return self.root / ".build" / "llama" / self.key

    @property
    def log(self) -> Path:
        """Where all the output goes."""
        return self.root / ".build" / f"llama-cpp-python-{self.variant}.log"


def key(lock: Path, variant: str) -> str:
    """What a built wheel depends on, as a folder name: version, variant, flags, machine."""
    version = lockfile.version(lock, NAME)
    flags = [f"{name}={os.environ.get(name, '')}" for name in _USER_FLAGS]
    pinned = lockfile.only(lock, NAME)
    digest = lockfile.fingerprint(RECIPE, pinned, *flags, toolchain.machine_identity())
    return f"{NAME}-{version}-{variant}-{digest}"


def cache_folder() -> Path:
    """Where built wheels are kept for every clone of this user."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    return home / "chatcli" / "build"


def cached(folder: Path) -> Path | None:
    """The wheel kept in a cache folder, if it is whole."""
    record = folder / "wheel.json"
    try:
        facts = json.loads(record.read_text())
        wheel = folder / Path(str(facts["file"])).name
        whole = _sha256(wheel) == facts["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return wheel if whole else None


def keep(wheel: Path, folder: Path) -> Path:
    """Move a built wheel into the cache; its record is written last, so half a copy has none."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "wheel.json").unlink(missing_ok=True)
    target = folder / wheel.name
    partial = folder / f"{wheel.name}.partial"
    shutil.copyfile(wheel, partial)
    with partial.open("rb") as written:
        os.fsync(written.fileno())
    partial.replace(target)
    record = folder / "wheel.json.partial"
    record.write_text(json.dumps({"file": target.name, "sha256": _sha256(target)}))
    record.replace(folder / "wheel.json")
    return target


def obtain(plan: Plan, console: Console, backend_ready: Callable[[], None]) -> Path:
    """The wheel for a plan, compiled only if the cache has none.

    `backend_ready` is called before a compile and puts the build tools in place.

    Raises:
        SetupError: something that the build needs is missing, or the build failed.
    """
    folder = cache_folder() / plan.key
    wheel = cached(folder)
    if wheel is not None:
        console.say(f"{NAME}: taking the build in {folder}")
        return wheel
    if folder.exists():
        console.say(f"{NAME}: the build in {folder} is damaged; compiling again")
    compilers = toolchain.find_compilers()
    backend = toolchain.backend(plan.variant, compilers)
    _require_space(plan)
    flags = toolchain.amx_flags(compilers)
    backend_ready()
    built = _compile(plan, console, backend, flags)
    kept = keep(built, folder)
    shutil.rmtree(plan.work, ignore_errors=True)
    return kept


def _require_space(plan: Plan) -> None:
    plan.work.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(plan.work).free
    if free < N_BYTES_NEEDED:
        raise SetupError(
            f"compiling needs {N_BYTES_NEEDED / 1e9:.1f} GB of disk, {free / 1e9:.1f} GB are free",
            f"free some space on the file system of {plan.root}",
        )


def _compile(plan: Plan, console: Console, backend: toolchain.Backend, flags: list[str]) -> Path:
    plan.log.unlink(missing_ok=True)
    title = f"{NAME} ({plan.variant})"
    progress = Progress(console, title)
    source = _source(plan, progress)
    progress.activity("configuring")
    out = plan.work / "out"
    shutil.rmtree(out, ignore_errors=True)
    pip: list[str | Path] = [
        plan.python,
        "-m",
        "pip",
        "wheel",
        "--verbose",
        "--no-deps",
        "--no-build-isolation",
    ]
    run_logged(
        [*pip, "--no-cache-dir", "--no-index", "--wheel-dir", out, source],
        log=plan.log,
        failed=f"compiling {NAME} failed",
        environment=_build_environment(plan, backend, flags),
        folder=plan.work,
        on_line=lambda line: _follow(line, progress),
        on_tick=progress.tick,
    )
    wheels = list(out.glob("*.whl"))
    if len(wheels) != 1:
        raise SetupError(f"the build of {NAME} left no wheel", f"look into {plan.log}")
    progress.finish("compiled")
    return wheels[0]


def _follow(line: str, progress: Progress) -> None:
    """Turn the build's output into progress: ninja counts its steps as `[n/m]`."""
    found = _NINJA.match(line)
    if found:
        progress.activity("compiling")
        progress.count(int(found[1]), int(found[2]))
    elif line.startswith("*** Installing"):
        progress.activity("packing")


def _source(plan: Plan, progress: Progress) -> Path:
    """The unpacked sources, checked against the lock file when they are downloaded."""
    source = plan.work / "src"
    if source.exists():
        return source
    progress.activity("downloading the sources (77 MB)")
    with tempfile.TemporaryDirectory(dir=plan.work) as folder:
        wanted = Path(folder) / "source.lock"
        wanted.write_text(lockfile.only(plan.root / "requirements.lock", NAME))
        pip: list[str | Path] = [
            plan.python,
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--no-build-isolation",
        ]
        run_logged(
            [*pip, "--require-hashes", "--no-binary", NAME, "--dest", folder, "-r", wanted],
            log=plan.log,
            failed=f"downloading {NAME} failed",
            environment=_tools_environment(plan),
            folder=plan.work,
            on_line=lambda _: None,
            on_tick=progress.tick,
        )
        progress.activity("unpacking")
        archive = next(Path(folder).glob("*.tar.gz"))
        with tarfile.open(archive) as sources:
            sources.extractall(folder, filter="data")
        next(path for path in Path(folder).iterdir() if path.is_dir()).rename(source)
    return source


def _tools_environment(plan: Plan) -> dict[str, str]:
    path = os.pathsep.join((str(plan.backend / "bin"), os.environ.get("PATH", os.defpath)))
    scratch = plan.work / "tmp"
    scratch.mkdir(exist_ok=True)
    return clean_environment(
        {"PYTHONPATH": str(plan.backend), "PATH": path, "TMPDIR": str(scratch)}
    )


def _build_environment(plan: Plan, backend: toolchain.Backend, flags: list[str]) -> dict[str, str]:
    environment = _tools_environment(plan) | backend.environment
    environment["SKBUILD_BUILD_DIR"] = str(plan.work / "objects")
    cmake = [os.environ.get("CMAKE_ARGS", ""), *backend.cmake_args]
    environment["CMAKE_ARGS"] = " ".join(cmake).strip()
    for name in ("CFLAGS", "CXXFLAGS"):
        environment[name] = " ".join((*flags, os.environ.get(name, ""))).strip()
    return environment


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
