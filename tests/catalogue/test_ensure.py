import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from chatcli import paths
from chatcli.catalogue.ensure import default_reference, ensure_model
from chatcli.catalogue.index import Installed, record, stamped
from chatcli.core.errors import CorruptModel, DownloadError, ModelNotFound
from chatcli.settings import Settings
from tests.catalogue.conftest import Heard
from tests.catalogue.served import Served, Server, listing, sha256
from tests.gguf.made import small_gguf


def _install(name: str, *aliases: str) -> Installed:
    folder = paths.private_dir(paths.models_dir() / name.replace(":", "-"))
    path = small_gguf(folder / "w.gguf")
    digest = sha256(path.read_bytes())
    model = Installed(name=name, parts=(path,), n_bytes=0, aliases=aliases, sha256=(digest,))
    record(stamped(model))
    return stamped(model)


def test_an_installed_model_is_found_without_heavy_imports() -> None:
    """The index is all that is read: no yaml, no httpx, no hub."""
    _install("smollm2:135m", "smollm2")
    script = (
        "import sys\n"
        "from chatcli.catalogue.ensure import ensure_model\n"
        "from chatcli.settings import Settings\n"
        "ensure_model('smollm2', Settings(), say=print, progress=print)\n"
        "assert not {'yaml', 'httpx', 'rich', 'typer', 'subprocess'} & set(sys.modules)\n"
    )
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )


def test_a_missing_model_is_pulled(
    server: Server, settings: Settings, weights: bytes, heard: Heard
) -> None:
    """The first use downloads, the second finds it."""
    server.files["/api/models/u/r/tree/main?recursive=true"] = Served(listing({"m.gguf": weights}))
    server.files["/u/r/resolve/main/m.gguf"] = Served(weights)
    for _ in range(2):
        model = ensure_model("hf.co/u/r", settings, say=heard.say, progress=heard.progress)
        assert model.path.read_bytes() == weights
        assert (model.name, model.sha256) == ("hf.co/u/r", sha256(weights))
    assert len(server.requests) == 2


def test_offline_by_argument_or_setting(settings: Settings, heard: Heard) -> None:
    """What is not here cannot be had; what is here can."""
    with pytest.raises(DownloadError, match="forbidden"):
        ensure_model("qwen3:4b", settings, offline=True, say=heard.say, progress=heard.progress)
    model = _install("smollm2:135m")
    offline = replace(settings, download=replace(settings.download, offline=True))
    found = ensure_model("smollm2:135m", offline, say=heard.say, progress=heard.progress)
    assert found.path == model.path


def test_a_file_that_changed_is_refused(settings: Settings, heard: Heard) -> None:
    """Other content under an installed name: the error names the file and the remedy."""
    model = _install("smollm2:135m")
    content = bytearray(model.path.read_bytes())
    content[-1] ^= 1
    model.path.write_bytes(content)
    with pytest.raises(CorruptModel, match=r"w\.gguf is not the file .*chatcli rm smollm2:135m"):
        ensure_model("smollm2:135m", settings, say=heard.say, progress=heard.progress)
    model.path.write_bytes(content[:-40])
    with pytest.raises(CorruptModel, match="cut off"):
        ensure_model("smollm2:135m", settings, say=heard.say, progress=heard.progress)


def test_a_file_with_another_time_is_checked_once(settings: Settings, heard: Heard) -> None:
    """Restored from a backup: hashed, accepted, and then found at once."""
    model = _install("smollm2:135m")
    os.utime(model.path, (1, 1))
    for _ in range(2):
        ensure_model("smollm2:135m", settings, say=heard.say, progress=heard.progress)
    assert [step[2] for step in heard.steps] == ["check"]


def test_a_path_and_a_wrong_name(tmp_path: Path, settings: Settings, heard: Heard) -> None:
    """A file needs no index; a wrong name is told before anything is asked of the hub."""
    path = small_gguf(tmp_path / "mine.gguf")
    model = ensure_model(str(path), settings, say=heard.say, progress=heard.progress)
    assert (model.name, model.path) == (str(path), path)
    with pytest.raises(ModelNotFound):
        ensure_model("nonsense", settings, say=heard.say, progress=heard.progress)


def test_the_default_is_the_chosen_or_the_latest_model() -> None:
    """Nothing installed, nothing chosen: None, which means a first run."""
    assert default_reference(Settings()) is None
    assert default_reference(Settings(model="qwen3:4b")) == "qwen3:4b"
    _install("old:1b")
    time.sleep(0.02)
    new = _install("new:1b")
    assert default_reference(Settings()) == "new:1b"
    new.path.unlink()
    assert default_reference(Settings()) == "old:1b"
