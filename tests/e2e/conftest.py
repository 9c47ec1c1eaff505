"""The installed program: a wheel built from this clone, in an environment of its own.

Every end-to-end test runs `installed_chatcli`, so that what is tested is what users get.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(command: list[str | Path], cwd: Path = ROOT) -> str:
    """Run a build step; its output is shown if it fails."""
    done = subprocess.run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this clone, built without isolation, so without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder])
    (wheel,) = folder.glob("chatcli-*.whl")
    return wheel


@pytest.fixture(scope="session")
def installed_chatcli(built_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The console script of the wheel, installed in a new environment.

    Its dependencies are those of the environment that runs the tests, seen through a `.pth` file;
    `.pth` files over there (such as the editable install of this clone) are not followed.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "--quiet"]
    run([*pip, "install", "--no-deps", "--no-index", "--disable-pip-version-check", built_wheel])
    here = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    site = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
    (Path(site) / "dependencies.pth").write_text("\n".join(here) + "\n")
    return folder / "bin" / "chatcli"


@pytest.fixture
def clean_home(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has never run chatcli: a new home and nothing set."""
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XDG_", "CHATCLI_", "PYTHON", "VIRTUAL_ENV", "COV_"))
    }
    return environment | {"HOME": str(home), "LC_ALL": "C.UTF-8"}
