"""`chatcli kv`: what is stored, whether it is whole, and deleting it."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from chatcli import paths
from chatcli.cli.kv import register
from chatcli.core.errors import ChatcliError, UsageError
from chatcli.engine.kv.index import Space, Tally
from chatcli.engine.kv.namespace import library_digest
from chatcli.engine.kv.store import Store, open_disk
from tests.engine.kv.made import NAMESPACE, block, payload


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of our own."""
    for name in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


def _run(*args: str) -> Result:
    app = typer.Typer()
    register(app)
    result = CliRunner().invoke(app, ["kv", *args])
    if result.exception and not isinstance(result.exception, SystemExit | ChatcliError):
        raise result.exception
    return result


def _put(store: Store, *ids: int, namespace: bytes = NAMESPACE, library: str = "") -> None:
    made = block(ids, namespace=namespace)
    store.put(made, payload(made, 5_000))
    space = Space(
        namespace=namespace, library=library or library_digest(), model="tiny\x1b", path="/"
    )
    store.note("a", [made.id], Tally(turns=1, memory=1, disk=2, evaluated=1, saved_s=3.0), space)


def test_stats_say_what_is_stored_and_what_it_saved() -> None:
    """In words without control characters, and as JSON."""
    assert _run("stats").stdout.startswith("0 blocks, 0 bytes of at most ")
    _put(store := open_disk(), 1, 2)
    store.close()
    text = _run("stats").stdout
    assert "1 blocks, 5 kB of at most" in text
    assert "\x1b" not in text
    assert "2 tokens read from here (50% of all prompt tokens)" in text
    found = json.loads(_run("stats", "--json").stdout)
    assert found["models"][0]["blocks"] == 1
    assert found["total"]["disk"] == 2
    assert found["bytes"] > 5_000
    assert list(found["days"].values()) == [found["total"]]


def test_verify_deletes_what_is_damaged() -> None:
    """And says how much."""
    _put(store := open_disk(), 1, 2)
    _put(store, 3, 4)
    store.close()
    file = next((paths.cache_dir() / "kv").glob("*/??/*.kv"))
    file.write_bytes(file.read_bytes()[:-1])
    assert "1 blocks are whole, 5 kB; 1 damaged and deleted" in _run("verify").stdout
    assert json.loads(_run("verify", "--json").stdout)["damaged"] == 0
    assert not file.exists()


def test_prune_deletes_what_cannot_be_used() -> None:
    """Old libraries' blocks and nobody's; all of a model or everything when told so."""
    store = open_disk()
    _put(store, 1)
    _put(store, 1, namespace=b"o" * 32, library="old")
    nobodys = block([9])
    store.put(nobodys, payload(nobodys))
    store.close()
    result = _run("prune")
    assert result.stdout == ""
    assert "Deleted 5 kB" in result.stderr
    assert [m["blocks"] for m in json.loads(_run("stats", "--json").stdout)["models"]] == [1]
    assert isinstance(_run("prune", "--model", "x").exception, UsageError)
    assert "Deleted 5 kB" in _run("prune", "--model", NAMESPACE.hex()[:16]).stderr
    _put(store := open_disk(), 5)
    store.close()
    _run("prune", "--all")
    assert list((paths.cache_dir() / "kv").glob("*/??")) == []


def test_path_is_where_it_is() -> None:
    """One line."""
    assert _run("path").stdout == f"{paths.cache_dir() / 'kv'}\n"
