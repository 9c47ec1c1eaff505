"""The set-up of a small clone, with real environments and wheels and no network."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from scripts.bootstrap import lockfile, wheel
from scripts.bootstrap.console import Console
from scripts.bootstrap.failure import SetupError
from scripts.bootstrap.stamps import Stamps
from scripts.bootstrap.steps import SetUp

PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "chatcli-sample"
version = "1.0"
[project.scripts]
sample = "chatcli:main"
[tool.hatch.build.targets.wheel]
dev-mode-dirs = ["."]
packages = ["chatcli"]
"""


def make_wheel(folder: Path, name: str, version: str) -> Path:
    """A wheel with one module, as a build would have left it."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", f"version = {version!r}\n")
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n")
    return path


def pin(path: Path) -> str:
    name, version = path.name.split("-")[:2]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{name}=={version} \\\n    --hash=sha256:{digest}\n"


class Clone:
    """A clone with one package, one library that is compiled, and a program."""

    def __init__(self, root: Path, packages: Path) -> None:
        self.root = root
        library = f"{wheel.NAME}==1.0 \\\n    --hash=sha256:{'0' * 64}\n"
        small, tool = make_wheel(packages, "small", "1.0"), make_wheel(packages, "tool", "1.0")
        (root / "requirements.lock").write_text(library + pin(small))
        (root / "requirements-dev.lock").write_text(library + pin(small) + pin(tool))
        (root / "requirements-build.lock").write_text("")
        (root / "chatcli").mkdir()
        (root / "chatcli" / "__init__.py").write_text("def main() -> None:\n    print('it runs')\n")
        (root / "pyproject.toml").write_text(PROJECT)
        self._offer_build_tools()
        for variant in ("cpu", "vulkan"):
            self.offer_library(variant)

    def _offer_build_tools(self) -> None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        (self.root / ".build").mkdir()
        folder = self.root / ".build" / f"backend-{lockfile.fingerprint('', version)}"
        folder.symlink_to(sysconfig.get_path("purelib"))

    def offer_library(self, variant: str) -> None:
        """Put the compiled library into the cache."""
        built = make_wheel(self.root, "llama_cpp_python", "1.0")
        key = wheel.key(self.root / "requirements.lock", variant)
        wheel.keep(built, wheel.cache_folder() / key)

    def set_up(self, *, variant: str = "", dev: bool = False) -> str:
        """Run the set-up; what it said."""
        said = io.StringIO()
        SetUp(self.root, Console(said), variant=variant, dev=dev).run()
        return said.getvalue()

    def program(self) -> str:
        """Run the clone's console script."""
        script = self.root / ".venv" / "bin" / "sample"
        return subprocess.run([script], capture_output=True, text=True, check=True).stdout

    def python(self, code: str) -> str:
        """Run code in the clone's environment."""
        command = [str(self.root / ".venv" / "bin" / "python"), "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("PYTHON", "CC", "CXX", "CFLAGS", "CXXFLAGS", "CMAKE_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))
    root = tmp_path / "clone"
    root.mkdir()
    return Clone(root, packages)


def test_a_clone_is_made_ready_and_only_what_is_missing_is_done(
    clone: Clone, tmp_path: Path
) -> None:
    """One clone through its life; one test, because making an environment takes seconds.

    A download that differs from the lock is refused and not believed later; the first good run
    makes everything, the next one nothing, silently; --dev adds the rest; GPU= swaps the library
    and is kept until another is chosen; a step without its stamp and a lost interpreter are made
    good.
    """
    download = tmp_path / "packages" / "small-1.0-py3-none-any.whl"
    whole = download.read_bytes()
    download.write_bytes(whole + b" ")
    with pytest.raises(SetupError, match="a download differs from the lock file"):
        clone.set_up()

    download.write_bytes(whole)
    said = clone.set_up()
    assert "making .venv" not in said
    assert "packages of requirements.lock: installed" in said
    assert clone.program() == "it runs\n"
    assert clone.python("import small, llama_cpp_python as l; print(l.version)") == "1.0"
    assert clone.set_up() == ""

    assert "packages of requirements-dev.lock: installed" in clone.set_up(dev=True)
    assert clone.python("import tool; print(tool.version)") == "1.0"
    assert clone.set_up() == clone.set_up(dev=True) == ""

    assert "llama-cpp-python (vulkan): installed" in clone.set_up(variant="vulkan")
    assert clone.set_up() == clone.set_up(variant="vulkan") == ""
    assert "llama-cpp-python (cpu): installed" in clone.set_up(variant="cpu")

    Stamps(clone.root / ".venv").put("native", "")
    assert clone.set_up().count("installed") == 1

    (clone.root / ".venv" / "bin" / "python").unlink()
    assert "making .venv" in clone.set_up()
    assert clone.program() == "it runs\n"


def test_a_missing_compiler_is_told_before_anything_is_made(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a wheel in the cache the compiler is looked for first, not after minutes."""
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(SetupError, match=r"no C\+\+ compiler"):
        clone.set_up()
    assert not (clone.root / ".venv").exists()
