"""A built wheel is kept for every clone, and taken only if it is whole and fits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.bootstrap import toolchain, wheel
from scripts.bootstrap.console import Console
from scripts.bootstrap.failure import SetupError

ROOT = Path(__file__).resolve().parents[3]
LOCK = ROOT / "requirements.lock"
NAME = "llama_cpp_python-0.0.0-py3-none-any.whl"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CMAKE_ARGS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    path = tmp_path / NAME
    path.write_bytes(b"a wheel" * 1000)
    return path


def plan(tmp_path: Path) -> wheel.Plan:
    missing = tmp_path / "no-python"
    return wheel.Plan(tmp_path, missing, tmp_path / "backend", "cpu", wheel.key(LOCK, "cpu"))


def test_a_kept_wheel_is_found_again(tmp_path: Path, built: Path) -> None:
    """What `keep` put away, `cached` gives back, byte for byte."""
    kept = wheel.keep(built, tmp_path / "cache")
    assert wheel.cached(tmp_path / "cache") == kept
    assert kept.read_bytes() == built.read_bytes()


def test_an_empty_cache_has_no_wheel(tmp_path: Path) -> None:
    """A folder that does not exist is no error."""
    assert wheel.cached(tmp_path / "nothing") is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"file": 3, "sha256": "x"}', b"\xff"])
def test_a_damaged_record_is_not_trusted(tmp_path: Path, built: Path, damage: bytes) -> None:
    """A record that cannot be read means that there is no wheel."""
    wheel.keep(built, tmp_path / "cache")
    (tmp_path / "cache" / "wheel.json").write_bytes(damage)
    assert wheel.cached(tmp_path / "cache") is None


def test_a_damaged_wheel_is_not_trusted(tmp_path: Path, built: Path) -> None:
    """One changed byte in the kept wheel is enough to refuse it."""
    kept = wheel.keep(built, tmp_path / "cache")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + b"x")
    assert wheel.cached(tmp_path / "cache") is None


def test_a_record_cannot_point_out_of_the_cache(tmp_path: Path, built: Path) -> None:
    """Only the name in the record counts: a path to another folder finds nothing."""
    wheel.keep(built, tmp_path / "cache")
    record = tmp_path / "cache" / "wheel.json"
    facts = json.loads(record.read_text())
    record.write_text(json.dumps(facts | {"file": str(built)}))
    (tmp_path / "cache" / NAME).unlink()
    assert wheel.cached(tmp_path / "cache") is None


def test_a_half_kept_wheel_has_no_record(tmp_path: Path, built: Path) -> None:
    """While a wheel is replaced the old record is gone, so an interruption leaves no wheel."""
    kept = wheel.keep(built, tmp_path / "cache")
    built.unlink()
    with pytest.raises(FileNotFoundError):
        wheel.keep(built, tmp_path / "cache")
    assert kept.exists()
    assert wheel.cached(tmp_path / "cache") is None


def test_a_cached_wheel_needs_no_compiler(
    tmp_path: Path, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a wheel in the cache nothing is compiled: the build tools are not even made."""
    mine = plan(tmp_path)
    kept = wheel.keep(built, wheel.cache_folder() / mine.key)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert wheel.obtain(mine, Console(), lambda: pytest.fail("made the build tools")) == kept


def test_without_wheel_and_compiler_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The missing compiler is one line with its remedy."""
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(SetupError, match=r"no C\+\+ compiler was found; install"):
        wheel.obtain(plan(tmp_path), Console(), lambda: pytest.fail("went on"))


def test_the_key_tells_builds_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version and variant stand in the key; flags and machine change it."""
    first = wheel.key(LOCK, "cpu")
    assert first.startswith("llama-cpp-python-0.3.")
    assert wheel.key(LOCK, "cpu") == first
    assert wheel.key(LOCK, "vulkan") != first
    monkeypatch.setenv("CFLAGS", "-O1")
    flagged = wheel.key(LOCK, "cpu")
    assert flagged != first
    monkeypatch.setattr(toolchain, "machine_identity", lambda: "another machine")
    assert wheel.key(LOCK, "cpu") not in (first, flagged)
