from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chatcli.catalogue.progress import Stage
from chatcli.settings import DownloadSettings, Settings
from tests.catalogue.served import Server, serving
from tests.gguf.made import small_gguf


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has folders of its own, and no token, proxy or tool folder of the user's."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for kind in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
    for name in ("HF_TOKEN", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("OLLAMA_MODELS", str(home / "ollama"))
    return home


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state


@pytest.fixture
def settings(server: Server) -> Settings:
    """Settings whose hub is the local server."""
    return Settings(download=DownloadSettings(hub=server.url))


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The content of a small GGUF file."""
    return small_gguf(tmp_path_factory.mktemp("weights") / "w.gguf", n_layers=4).read_bytes()


class Heard:
    """What was said and shown."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.steps: list[tuple[int, int, Stage]] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def progress(self, done_bytes: int, total_bytes: int, stage: Stage) -> None:
        self.steps.append((done_bytes, total_bytes, stage))


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def models_yaml(own_home: Path) -> Callable[[str], Path]:
    """Write the user's own catalogue."""

    def write(text: str) -> Path:
        file = own_home / "config" / "chatcli" / "models.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write
