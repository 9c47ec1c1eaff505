"""Everything that changes the numbers is another namespace."""

from pathlib import Path

import pytest

from chatcli.engine.kv import namespace as module
from chatcli.engine.kv.namespace import library_digest, namespace

FACTS: dict[str, object] = {
    "weights": "w",
    "kv_type": "f16",
    "flash_attention": "auto",
    "on_gpu": False,
    "is_long": False,
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def _of(**changes: object) -> bytes:
    return namespace(**(FACTS | changes))  # type: ignore[arg-type]


def test_each_fact_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights, cell type, flash attention, device, RoPE factors, rotation, library."""
    names = {
        _of(),
        _of(weights="v"),
        _of(kv_type="q8_0"),
        _of(flash_attention="off"),
        _of(on_gpu=True),
        _of(is_long=True),
    }
    monkeypatch.setenv("LLAMA_ATTN_ROT_DISABLE", "1")
    names.add(_of())
    monkeypatch.setattr(module, "library_digest", lambda: "another")
    names.add(_of())
    assert len(names) == 8
    assert all(len(name) == 32 for name in names)


def test_the_library_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remembered; another file, size or time is hashed anew."""
    file = tmp_path / "libx.so"
    file.write_bytes(b"one")
    monkeypatch.setattr(module, "library_files", lambda: [file])
    first = library_digest()
    file.write_bytes(b"two!")
    assert library_digest() != first
