import json
from pathlib import Path

import pytest

from chatcli.catalogue.local import find_by_sha256, find_local, local_files


def _ollama(root: Path, name: str, digest: str, *, blob: bool = True) -> Path:
    manifest = root / "manifests" / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:" + "0" * 64},
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"},
    ]
    manifest.write_text(json.dumps({"layers": layers}))
    path = root / "blobs" / f"sha256-{digest}"
    if blob:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"GGUF")
    return path


def test_ollamas_models_have_their_own_names(own_home: Path) -> None:
    """The library's names are short; other registries are named in full."""
    root = own_home / "ollama"
    llama = _ollama(root, "registry.ollama.ai/library/llama3.2/3b", "a" * 64)
    hub = _ollama(root, "hf.co/user/repo/Q4", "b" * 64)
    user = _ollama(root, "registry.ollama.ai/me/mine/latest", "c" * 64)
    found = {one.name: one.path for one in local_files()}
    assert found == {
        "ollama/llama3.2:3b": llama,
        "ollama/hf.co/user/repo:Q4": hub,
        "ollama/me/mine:latest": user,
    }
    assert find_local("llama3.2:3b") == find_local("ollama/llama3.2:3b")
    assert find_by_sha256("a" * 64) == llama


@pytest.mark.parametrize(
    "manifest",
    ["", "[]", "[" * 100_000, '{"layers": 3}', '{"layers": [{}]}', '{"layers": []}'],
)
def test_damaged_manifests_are_passed_over(own_home: Path, manifest: str) -> None:
    """A half-written file of another tool is not our error."""
    path = own_home / "ollama" / "manifests" / "registry.ollama.ai" / "library" / "x" / "latest"
    path.parent.mkdir(parents=True)
    path.write_text(manifest)
    _ollama(own_home / "ollama", "registry.ollama.ai/library/gone/latest", "d" * 64, blob=False)
    outside = "x/../../../../config"  # a digest that would lead out of the folder
    _ollama(own_home / "ollama", "registry.ollama.ai/library/evil/latest", outside, blob=False)
    assert local_files() == []


def test_lm_studio_and_llama_cpp(own_home: Path) -> None:
    """Both places of LM Studio, and llama.cpp's cache; no projectors, no later parts."""
    places = {
        "lmstudio/pub/repo/m.gguf": own_home / ".lmstudio" / "models" / "pub" / "repo" / "m.gguf",
        "lmstudio/old/m.gguf": own_home / "cache" / "lm-studio" / "models" / "old" / "m.gguf",
        "llama.cpp/x-00001-of-00002.gguf": own_home
        / "cache"
        / "llama.cpp"
        / "x-00001-of-00002.gguf",
    }
    for path in places.values():
        path.parent.mkdir(parents=True)
        path.write_bytes(b"GGUF")
    for other in ("x-00002-of-00002.gguf", "mmproj-m.gguf", "x.gguf.part"):
        (own_home / "cache" / "llama.cpp" / other).write_bytes(b"GGUF")
    assert {one.name: one.path for one in local_files()} == places


def test_the_hub_cache_shows_the_main_revision(own_home: Path) -> None:
    """Links into the blobs are followed; of two revisions the one of `main` is shown."""
    repo = own_home / "cache" / "huggingface" / "hub" / "models--u--r-1.5"
    digests = {"aaa": "1" * 64, "bbb": "2" * 64}
    (repo / "blobs").mkdir(parents=True)
    for revision, digest in digests.items():
        (repo / "blobs" / digest).write_bytes(b"GGUF")
        snapshot = repo / "snapshots" / revision
        snapshot.mkdir(parents=True)
        (snapshot / "m.gguf").symlink_to(Path("..") / ".." / "blobs" / digest)
    (repo / "snapshots" / "aaa" / "dangling.gguf").symlink_to("nowhere")
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("bbb\n")
    (one,) = local_files()
    assert (one.name, one.n_bytes) == ("hf-cache/u/r-1.5/m.gguf", 4)
    assert one.path.resolve() == (repo / "blobs" / digests["bbb"]).resolve()
    assert find_by_sha256("1" * 64) == repo / "blobs" / ("1" * 64)
    assert find_by_sha256("3" * 64) is None


def test_the_tools_own_variables_are_honoured(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLAMA_CACHE and HF_HUB_CACHE say where the files are."""
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "none"))
    assert [one.name for one in local_files() if one.tool == "llama.cpp"][0:1] == [
        "llama.cpp/m.gguf"
    ]


def test_without_a_home_folder_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tools then keep nothing for this user; that is no error."""
    for name in ("XDG_CACHE_HOME", "OLLAMA_MODELS", "HF_HOME", "HF_HUB_CACHE", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "~")
    assert local_files() == []
