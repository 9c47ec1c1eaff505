import shutil
from pathlib import Path

import pytest

from chatcli.catalogue.progress import quiet_progress
from chatcli.catalogue.staging import Partial, require_space
from chatcli.core.errors import CorruptModel, DownloadError, StorageError
from tests.catalogue.served import sha256


def test_two_writers_of_one_file_are_refused(tmp_path: Path) -> None:
    """The same file under two names of a model: the second writer is told, nothing is mixed."""
    with (
        Partial(tmp_path / "w.gguf"),
        pytest.raises(DownloadError, match=r"another process is downloading w\.gguf"),
        Partial(tmp_path / "w.gguf"),
    ):
        pass


def test_facts_and_bytes_survive_the_process(tmp_path: Path, weights: bytes) -> None:
    """A later run hashes what is there, once, and finishes."""
    with Partial(tmp_path / "w.gguf") as first:
        first.append(weights[:1000])
        first.note(url="u")
    with Partial(tmp_path / "w.gguf") as second:
        assert (second.size, second.facts) == (1000, {"url": "u"})
        second.load(quiet_progress, 0)
        second.load(quiet_progress, 0)
        second.append(weights[1000:])
        assert second.finish(sha256=sha256(weights), n_bytes=len(weights)) == sha256(weights)
    assert (tmp_path / "w.gguf").read_bytes() == weights


@pytest.mark.parametrize("facts", ["", "[]", "{", "\udc80", "[" * 100_000])
def test_damaged_facts_count_as_none(tmp_path: Path, facts: str) -> None:
    """A half-written note means starting over, not a crash."""
    (tmp_path / "w.gguf.partial.json").write_bytes(facts.encode("utf-8", "surrogateescape"))
    assert Partial(tmp_path / "w.gguf").facts == {}


def test_a_wrong_size_is_told(tmp_path: Path, weights: bytes) -> None:
    """Both numbers are named, and nothing is kept."""
    with Partial(tmp_path / "w.gguf") as partial:
        partial.append(weights)
        with pytest.raises(CorruptModel, match="bytes instead of 5"):
            partial.finish(sha256="", n_bytes=5)
    assert list(tmp_path.glob("w.gguf*")) == []


def test_a_full_disk_is_told_with_a_remedy(tmp_path: Path) -> None:
    """Before the download by arithmetic, during it by the system's own error."""
    require_space(tmp_path, 0)
    with pytest.raises(StorageError, match="XDG_DATA_HOME"):
        require_space(tmp_path, shutil.disk_usage(tmp_path).total)
    (tmp_path / "w.gguf.partial").symlink_to("/dev/full")
    with (
        pytest.raises(StorageError, match=r"disk is full: .*goes on where it stopped"),
        Partial(tmp_path / "w.gguf") as partial,
    ):
        partial.append(bytes(1 << 20))


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A file in the way of a folder, a folder in the way of the file."""
    (tmp_path / "w.gguf.partial").mkdir()
    with pytest.raises(StorageError, match="cannot write"), Partial(tmp_path / "w.gguf"):
        pass
