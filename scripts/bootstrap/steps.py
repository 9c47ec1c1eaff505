"""The steps of the set-up, each done only if missing: environment, packages, library, project."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import lockfile, toolchain, wheel
from .console import Console, Progress
from .failure import SetupError
from .process import clean_environment, run_logged
from .stamps import Stamps

OLDEST = (3, 11)
N_BYTES_VENV = 400_000_000
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


class SetUp:
    """One run of the set-up in one clone."""

    def __init__(
        self, root: Path, console: Console, *, variant: str = "", dev: bool = False
    ) -> None:
        self._root = root
        self._console = console
        self._dev = dev
        self._venv = root / ".venv"
        self._python = self._venv / "bin" / "python"
        self._build = root / ".build"
        self._stamps = Stamps(self._venv)
        self._variant = variant or self._stamps.get("variant") or toolchain.default_variant()
        self._native = wheel.key(root / "requirements.lock", self._variant)

    def run(self) -> None:
        """Do what is missing; say nothing if that is nothing.

        Raises:
            SetupError: a step failed; the steps before it stay done.
        """
        with _alone(self._build / "lock", self._console):
            self._look_ahead()
            self._make_venv()
            self._install_packages()
            self._stamps.once("native", self._native, self._install_native)
            if self._stamps.get("variant") != self._variant:
                self._stamps.put("variant", self._variant)
            self._stamps.once("project", self._project_inputs(), self._install_project)
            self._remember_python()

    def _look_ahead(self) -> None:
        """Refuse at once what would fail after minutes: a missing compiler, toolkit or file."""
        if self._stamps.get("native") == self._native:
            return
        if wheel.cached(wheel.cache_folder() / self._native) is None:
            toolchain.backend(self._variant, toolchain.find_compilers())

    def _make_venv(self) -> None:
        found = _python_version(self._python)
        own = "{}.{}".format(*sys.version_info[:2])
        insists = bool(os.environ.get("PYTHON"))
        wanted = found == own or (found and not insists and _at_least_oldest(found))
        if wanted and self._stamps.get("venv") == found:
            return
        if wanted and _has_pip(self._python):
            self._stamps.put("venv", found)
            return
        free = shutil.disk_usage(self._root).free
        if free < N_BYTES_VENV:
            raise SetupError(
                f"{free / 1e6:.0f} MB of disk are free in {self._root}, too little to install",
                f"free at least {N_BYTES_VENV / 1e6:.0f} MB",
            )
        self._console.say(f"making .venv with Python {own}")
        command: list[str | Path] = [sys.executable, "-m", "venv", "--clear", self._venv]
        self._run(command, "making .venv failed", Progress(self._console, ".venv"))
        self._stamps.put("venv", own)

    def _install_packages(self) -> None:
        runtime, dev = self._root / "requirements.lock", self._root / "requirements-dev.lock"
        if self._dev:
            self._stamps.once(
                "dev", lockfile.fingerprint(dev.read_text()), lambda: self._install(dev)
            )
            self._stamps.put("packages", lockfile.fingerprint(runtime.read_text()))
        else:
            self._stamps.once(
                "packages",
                lockfile.fingerprint(runtime.read_text()),
                lambda: self._install(runtime),
            )

    def _install(self, lock: Path) -> None:
        """Install a lock file by hash, all but the library that is compiled here."""
        progress = Progress(self._console, f"packages of {lock.name}")
        wanted = self._build / lock.name
        wanted.write_text(lockfile.without(lock, wheel.NAME))
        self._pip(
            ["--require-hashes", "--no-deps", "-r", wanted], f"installing {lock.name}", progress
        )
        progress.finish("installed")

    def _install_native(self) -> None:
        plan = wheel.Plan(
            self._root, self._python, self._backend_folder(), self._variant, self._native
        )
        built = wheel.obtain(plan, self._console, self._make_backend)
        progress = Progress(self._console, f"{wheel.NAME} ({self._variant})")
        self._pip(
            ["--no-deps", "--no-index", "--force-reinstall", built],
            f"installing {built.name}",
            progress,
        )
        progress.finish("installed")

    def _install_project(self) -> None:
        self._make_backend()
        progress = Progress(self._console, "chatcli")
        self._pip(
            ["--no-deps", "--no-index", "--no-build-isolation", "--editable", self._root],
            "installing chatcli",
            progress,
            {"PYTHONPATH": str(self._backend_folder())},
        )
        progress.finish("installed")

    def _project_inputs(self) -> str:
        sources = ("pyproject.toml", "chatcli/__init__.py")
        return lockfile.fingerprint(*((self._root / name).read_text() for name in sources))

    def _backend_folder(self) -> Path:
        lock = (self._root / "requirements-build.lock").read_text()
        version = _python_version(self._python)
        return self._build / f"backend-{lockfile.fingerprint(lock, version)}"

    def _make_backend(self) -> None:
        """Put the pinned build tools into a folder of their own; it appears whole or not at all."""
        folder = self._backend_folder()
        if folder.exists():
            return
        progress = Progress(self._console, "build tools")
        lock = self._root / "requirements-build.lock"
        with tempfile.TemporaryDirectory(dir=self._build) as scratch:
            target = Path(scratch) / "backend"
            self._pip(
                ["--require-hashes", "--no-deps", "--target", target, "-r", lock],
                f"installing {lock.name}",
                progress,
            )
            target.rename(folder)
        progress.finish("installed")

    def _pip(
        self,
        arguments: Sequence[str | Path],
        doing: str,
        progress: Progress,
        environment: dict[str, str] | None = None,
    ) -> None:
        command = [self._python, "-m", "pip", "install", "--no-warn-script-location", *arguments]
        self._run(command, f"{doing} failed", progress, environment)

    def _run(
        self,
        command: Sequence[str | Path],
        failed: str,
        progress: Progress,
        environment: dict[str, str] | None = None,
    ) -> None:
        run_logged(
            command,
            log=self._build / "setup.log",
            failed=failed,
            environment=clean_environment(environment),
            folder=self._root,
            on_line=lambda line: _follow_pip(line, progress),
            on_tick=progress.tick,
        )

    def _remember_python(self) -> None:
        """Let the next `make` find the interpreter without a search."""
        note = self._build / "python"
        if not note.exists() or note.read_text() != sys.executable:
            note.write_text(sys.executable)


def _follow_pip(line: str, progress: Progress) -> None:
    """Show in a terminal what pip is at; its words are too many for anything else."""
    words = line.split()
    if len(words) > 1 and words[0] in ("Collecting", "Downloading", "Installing", "Building"):
        progress.note(f"{words[0].lower()} {words[1]}")


def _python_version(python: Path) -> str:
    """The version of an environment's interpreter; empty if it does not run."""
    try:
        done = subprocess.run(
            [python, "-I", "-S", "-c", _VERSION],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _at_least_oldest(version: str) -> bool:
    return tuple(int(part) for part in version.split(".")) >= OLDEST


def _has_pip(python: Path) -> bool:
    command = [str(python), "-m", "pip", "--version"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode == 0


@contextmanager
def _alone(path: Path, console: Console) -> Iterator[None]:
    """Hold the clone's set-up lock; two `make` at once take turns."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.say("another set-up is at work in this folder; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
