import io
import json
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from chatcli import paths
from chatcli.catalogue.index import Installed, find_installed, record, stamped
from chatcli.cli import model as command
from chatcli.core.errors import ChatcliError, DownloadError, ModelNotFound, UsageError
from tests.catalogue.served import Served, listing, serving
from tests.gguf.made import TEMPLATE, small_gguf


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama"))
    for name in ("CHATCLI_MODEL", "CHATCLI_OFFLINE", "HF_TOKEN", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)


def _run(*words: str) -> Result:
    app = typer.Typer()
    command.register(app)
    return CliRunner().invoke(app, list(words))


def _good(*words: str) -> Result:
    result = _run(*words)
    assert result.exception is None, result.output
    return result


def _error(*words: str) -> ChatcliError:
    result = _run(*words)
    assert isinstance(result.exception, ChatcliError)
    assert result.stdout == ""
    return result.exception


def _install(name: str = "smollm2:135m", *, owned: bool = True) -> Installed:
    folder = paths.private_dir(paths.models_dir() / name.replace(":", "-"))
    path = small_gguf(folder / "w.gguf", name="Tiny\x1b[31m")
    model = stamped(
        Installed(name=name, parts=(path,), n_bytes=0, aliases=("smollm2",), owned=owned)
    )
    record(model)
    return model


def test_pull_says_what_it_does_on_stderr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """stdout stays empty; a second pull downloads nothing."""
    content = small_gguf(tmp_path / "w.gguf").read_bytes()
    tree = "/api/models/u/r/tree/main?recursive=true"
    files = {
        tree: Served(listing({"m-Q8_0.gguf": content})),
        "/u/r/resolve/main/m-Q8_0.gguf": Served(content),
    }
    with serving(files) as hub:
        monkeypatch.setenv("CHATCLI_DOWNLOAD_HUB", hub.url)
        first = _good("pull", "hf.co/u/r:Q8_0")
        second = _good("pull", "hf.co/u/r:Q8_0")
        assert len(hub.requests) == 2
    assert first.stdout == second.stdout == ""
    assert "Downloading hf.co/u/r:Q8_0" in first.stderr
    assert "(100 %)" in first.stderr
    assert "\x1b" not in first.stderr
    assert second.stderr.startswith("hf.co/u/r:Q8_0 is ready: ")


def test_pull_offline_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By flag and by environment."""
    assert isinstance(_error("pull", "--offline", "qwen3:4b"), DownloadError)
    monkeypatch.setenv("CHATCLI_OFFLINE", "1")
    assert isinstance(_error("pull", "qwen3:4b"), DownloadError)


def test_an_empty_list_says_what_to_do() -> None:
    """stdout is empty for scripts, the advice is on stderr; JSON is an empty list."""
    result = _good("list")
    assert result.stdout == ""
    assert "chatcli pull smollm2:135m" in result.stderr
    assert json.loads(_good("ls", "--json").stdout) == []


def test_list_shows_what_is_installed_and_what_is_lost() -> None:
    """A model whose file is gone is listed as missing."""
    model = _install()
    size = str(model.n_bytes // 1000)
    assert _good("list").stdout.splitlines()[1].split()[:2] == ["smollm2:135m", size]
    (row,) = json.loads(_good("list", "--json").stdout)
    assert (row["state"], row["path"], row["n_bytes"]) == (
        "installed",
        str(model.path),
        model.n_bytes,
    )
    model.path.unlink()
    assert "missing" in _good("ls").stdout


def test_list_all_adds_other_tools_and_the_catalogue(tmp_path: Path) -> None:
    """Each line has its state; what is installed is not offered again."""
    _install()
    folder = tmp_path / ".lmstudio" / "models" / "pub" / "repo"
    folder.mkdir(parents=True)
    (folder / "evil\x1b[2J.gguf").write_bytes(b"GGUF")
    result = _good("list", "--all")
    rows = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert "available" in rows["qwen3:4b"]
    assert "installed" in rows["smollm2:135m"]
    assert "\x1b" not in result.stdout
    states = {one["state"] for one in json.loads(_good("ls", "--all", "--json").stdout)}
    assert states == {"installed", "local", "available"}


def test_show_tells_what_the_file_says(tmp_path: Path) -> None:
    """An own file: header facts; control characters in its name are made visible."""
    _install()
    text = _good("show", "smollm2").stdout
    assert "kv bytes per token" in text
    assert "\x1b" not in text
    path = small_gguf(tmp_path / "own.gguf")
    known = json.loads(_good("show", str(path), "--json").stdout)
    assert (known["architecture"], known["context"], known["layers"]) == ("llama", 512, 2)
    assert known["chat_template"] == "yes"
    assert TEMPLATE not in text


def test_show_tells_what_could_be_had() -> None:
    """A catalogue entry: its sources in order, the mirror marked."""
    known = json.loads(_good("show", "qwen2.5-coder", "--json").stdout)
    assert known["state"] == "available"
    assert known["sha256"] == ["1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"]
    assert known["sources"][0].startswith("hf.co/Qwen/")
    assert known["sources"][1].endswith("(mirror)")
    assert "unverified until" in _good("show", "qwen3:4b").stdout
    assert isinstance(_error("show", "nonsense"), ModelNotFound)


def test_rm_never_waits_for_an_answer_in_a_pipe() -> None:
    """Without a terminal `-y` is needed; with it the file is gone."""
    model = _install()
    assert isinstance(_error("rm", "smollm2"), UsageError)
    assert model.path.is_file()
    result = _good("rm", "-y", "smollm2")
    assert (result.stdout, model.path.exists()) == ("", False)
    assert "Removed smollm2:135m" in result.stderr


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "kept"), [("y\n", False), ("\n", True), ("", True)])
def test_rm_asks_in_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str, kept: bool) -> None:
    """Only a yes deletes; the end of input is a no."""
    model = _install()
    monkeypatch.setattr(sys, "stdin", _Terminal(answer))
    command.rm(["smollm2"])
    assert model.path.is_file() is kept


def test_rm_keeps_files_of_others() -> None:
    """Only the entry is removed, and that is said."""
    model = _install(owned=False)
    assert "its file is kept" in _good("rm", "-y", "smollm2").stderr
    assert model.path.is_file()
    assert find_installed("smollm2") is None


def test_rm_forgets_a_model_whose_file_is_gone() -> None:
    """The entry can be removed, and nothing is claimed of a file."""
    _install().path.unlink()
    assert "its file was gone" in _good("rm", "-y", "smollm2").stderr
    assert find_installed("smollm2") is None


def test_rm_checks_all_names_before_it_deletes_any() -> None:
    """One wrong name: nothing is deleted."""
    model = _install()
    _error("rm", "-y", "smollm2", "nonsense")
    assert model.path.is_file()
