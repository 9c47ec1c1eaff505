"""The wheel and the sdist hold what they must and nothing else, and the wheel runs."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

from chatcli import __version__

from .conftest import ROOT, run


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def data_table() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    table = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    return {str(source): str(target) for source, target in table.items()}


def test_the_data_table_names_every_tracked_file() -> None:
    """What git tracks in models/ and config/ is what the wheel takes, file by file."""
    tracked = run(["git", "ls-files", "models", "config"]).split()
    assert sorted(data_table()) == sorted(tracked)


def test_wheel_holds_the_package_its_data_and_its_licence(built_wheel: Path) -> None:
    """The package, the type marker, both data folders and the licence are in the wheel."""
    found = names(built_wheel)
    sources = run(["git", "ls-files", "chatcli"]).split()
    licence = f"chatcli-{__version__}.dist-info/licenses/LICENSE"
    assert {*sources, *data_table().values(), "chatcli/py.typed", licence} <= found


def test_wheel_holds_nothing_else(built_wheel: Path) -> None:
    """No weights, tests or scripts are in the wheel, whatever lies about in the clone."""
    found = names(built_wheel)
    assert {name.partition("/")[0] for name in found} == {
        "chatcli",
        f"chatcli-{__version__}.dist-info",
    }
    assert not [name for name in found if name.endswith((".gguf", ".partial", ".pyc", ".lock"))]


def test_wheel_data_are_the_files_of_the_clone(built_wheel: Path) -> None:
    """The packaged catalogue and defaults are byte for byte those of the clone."""
    with zipfile.ZipFile(built_wheel) as archive:
        for source, target in data_table().items():
            assert archive.read(target) == (ROOT / source).read_bytes()


def test_sdist_builds_the_same_wheel(built_wheel: Path, tmp_path: Path) -> None:
    """The source distribution holds both data folders and gives a wheel with the same files."""
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path])
    (archive,) = tmp_path.glob("chatcli-*.tar.gz")
    with tarfile.open(archive) as sources:
        sources.extractall(tmp_path, filter="data")
    unpacked = tmp_path / f"chatcli-{__version__}"
    assert all((unpacked / source).is_file() for source in data_table())
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=unpacked)
    (again,) = tmp_path.glob("chatcli-*.whl")
    assert names(again) == names(built_wheel)


def test_installed_program_states_its_version(
    installed_chatcli: Path, clean_home: dict[str, str], tmp_path: Path
) -> None:
    """`chatcli --version` answers on stdout alone, from any folder, in a home that is new."""
    done = subprocess.run(
        [installed_chatcli, "--version"],
        cwd=tmp_path,
        env=clean_home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.match(rf"chatcli {re.escape(__version__)}\b", done.stdout)
    assert done.stderr == ""


def test_installed_program_is_not_the_clone(
    installed_chatcli: Path, clean_home: dict[str, str], tmp_path: Path
) -> None:
    """The package that the console script imports lies in its own environment, with its data."""
    python = installed_chatcli.with_name("python")
    code = "import chatcli, importlib.resources as r; print(r.files(chatcli) / '_data')"
    done = subprocess.run(
        [python, "-c", code],
        cwd=tmp_path,
        env=clean_home,
        capture_output=True,
        text=True,
        check=True,
    )
    data = Path(done.stdout.strip())
    assert data.is_relative_to(installed_chatcli.parents[1])
    assert (data / "config" / "default.yaml").is_file()
