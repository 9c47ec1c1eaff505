"""The lock files are complete, hashed and silent about where packages come from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from scripts.bootstrap import lockfile

ROOT = Path(__file__).resolve().parents[3]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-build.lock")
TOO_HEAVY = ("torch", "tensorflow", "transformers", "nvidia", "triton", "scipy", "pandas")

SMALL = """\
# Written by hand.
alpha==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
beta-two==2.0 ; python_full_version < '3.12' \\
    --hash=sha256:cc
beta-two==3.0 ; python_full_version >= '3.12' \\
    --hash=sha256:dd
"""


def names(lock: str) -> list[str]:
    heads = lockfile.blocks((ROOT / lock).read_text())
    return [head.partition("==")[0] for head in heads]


def wanted(lock: str) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    runtime = project["project"]["dependencies"]
    groups = project["dependency-groups"]
    lists = {LOCKS[0]: runtime, LOCKS[1]: runtime + groups["dev"], LOCKS[2]: groups["build"]}
    return [re.split(r"[<>=\[ ;]", str(line))[0].lower() for line in lists[lock]]


def test_blocks_are_split_at_each_requirement(tmp_path: Path) -> None:
    """Each requirement keeps its hashes; one package may be taken out or taken alone."""
    path = tmp_path / "small.lock"
    path.write_text(SMALL)
    assert lockfile.only(path, "alpha") == "".join(SMALL.splitlines(keepends=True)[1:4])
    assert lockfile.without(path, "alpha") == "".join(SMALL.splitlines(keepends=True)[4:])
    assert lockfile.version(path, "beta-two") == "2.0"
    with pytest.raises(LookupError, match=r"gamma is not in small\.lock"):
        lockfile.version(path, "gamma")


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_and_hashed(lock: str) -> None:
    """No line of a lock file is anything but a pin, a sha256 or the header."""
    lines = (ROOT / lock).read_text().splitlines()
    pin = re.compile(r"[a-z0-9-]+==[A-Za-z0-9.]+( ; [a-z_]+ [!=<>]+ '[A-Za-z0-9.]+')? \\")
    digest = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
    assert lines[0] == "# Written by `make lock` from pyproject.toml. Do not edit."
    assert [line for line in lines[1:] if not (pin.fullmatch(line) or digest.fullmatch(line))] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_files_hold_what_the_project_asks_for(lock: str) -> None:
    """Each dependency that pyproject.toml names is locked."""
    assert set(wanted(lock)) - set(names(lock)) == set()


def test_the_dev_lock_agrees_with_the_runtime_lock() -> None:
    """Developers run the versions that users get."""
    runtime = lockfile.blocks((ROOT / LOCKS[0]).read_text())
    dev = lockfile.blocks((ROOT / LOCKS[1]).read_text())
    assert {head: dev.get(head) for head in runtime} == runtime


@pytest.mark.parametrize("lock", LOCKS)
def test_no_heavy_package_comes_in(lock: str) -> None:
    """No training framework or GPU run-time is among the locked packages."""
    assert [name for name in names(lock) if name.startswith(TOO_HEAVY)] == []
