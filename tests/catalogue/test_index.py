import json
from pathlib import Path

import pytest

from chatcli import paths
from chatcli.catalogue.index import (
    Installed,
    find_installed,
    forget,
    read_index,
    record,
    stamped,
)


def _model(name: str, path: Path, *aliases: str) -> Installed:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"weights")
    return stamped(
        Installed(name=name, parts=(path,), n_bytes=0, aliases=aliases, sha256=("a" * 64,))
    )


def test_what_is_recorded_is_read_back(tmp_path: Path) -> None:
    """Own files are kept relative to the models folder, so that it may be moved; others not."""
    own = _model("own:1b", paths.models_dir() / "own-1b" / "w.gguf", "own")
    other = _model("other:1b", tmp_path / "elsewhere.gguf")
    record(own)
    record(other)
    assert read_index() == {"own:1b": own, "other:1b": other}
    assert find_installed("own") == find_installed("OWN:1B") == own
    text = (paths.models_dir() / "installed.json").read_text()
    assert '"own-1b/w.gguf"' in text
    assert str(tmp_path / "elsewhere.gguf") in text
    forget("own:1b")
    assert find_installed("own") is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"format": 2, "models": {}}',
        '{"format": 1, "models": {"a": {}}}',
        '{"format": 1, "models": {"a": []}}',
        json.dumps({"format": 1, "models": {"a": {"parts": []}}}),
        "[" * 100_000,
    ],
)
def test_a_damaged_index_counts_as_empty(content: str) -> None:
    """The files are found again by the next pull; nothing crashes."""
    paths.private_dir(paths.models_dir())
    (paths.models_dir() / "installed.json").write_text(content)
    assert read_index() == {}


def test_a_changed_or_missing_file_is_noticed() -> None:
    """Size, time and presence are compared."""
    model = _model("own:1b", paths.models_dir() / "w.gguf")
    assert model.unchanged()
    model.path.write_bytes(b"other weights")
    assert not model.unchanged()
    model.path.unlink()
    assert not model.unchanged()
