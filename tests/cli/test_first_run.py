import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from chatcli import paths
from chatcli.catalogue.first_run import Machine
from chatcli.catalogue.index import Installed, record, stamped
from chatcli.cli.first_run import first_model, ready_model
from chatcli.core.errors import ConfigError, DownloadError
from chatcli.settings import DownloadSettings, Settings
from chatcli.settings.write import write_user_value
from tests.gguf.made import small_gguf

GB = 10**9


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))


def _machine(*, hub: bool = True, memory: int = 8 * GB) -> Callable[[str], Machine]:
    return lambda _: Machine(memory_bytes=memory, free_bytes=100 * GB, hub_reachable=hub)


def _first(lines: list[str], answers: str, look: Callable[[str], Machine]) -> str:
    return first_model(
        Settings(),
        interactive=True,
        say=lines.append,
        read_line=io.StringIO(answers).readline,
        look=look,
    )


@pytest.mark.parametrize(
    ("answers", "chosen"),
    [
        ("1\n", "smollm2:135m"),
        ("\n", "smollm2:135m"),
        ("", "smollm2:135m"),
        ("2\n", "qwen3:4b"),
        ("qwen3:4b\n", "qwen3:4b"),
        ("3\nyes\n2\n", "qwen3:4b"),
    ],
)
def test_the_answer_is_taken_and_kept(answers: str, chosen: str) -> None:
    """Sizes are shown; the choice stands in the user's settings."""
    lines: list[str] = []
    assert _first(lines, answers, _machine()) == chosen
    shown = "\n".join(lines)
    assert "smollm2:135m            98 MB" in shown
    assert "qwen3:4b               2.5 GB" in shown
    assert yaml.safe_load(paths.user_config_file().read_text()) == {"model": chosen}
    assert paths.user_config_file().stat().st_mode & 0o777 == 0o600


def test_outside_a_terminal_nothing_is_asked() -> None:
    """The embedded model, no look at the machine, no settings written."""

    def never(_: str = "") -> Machine:
        raise AssertionError("asked")

    assert first_model(Settings(), interactive=False, say=print, look=never) == "smollm2:135m"
    assert not paths.user_config_file().exists()


def test_without_the_hub_or_a_fitting_model_nothing_is_asked() -> None:
    """There is nothing to choose; a dead hub is said."""
    lines: list[str] = []
    assert _first(lines, "2\n", _machine(hub=False)) == "smollm2:135m"
    assert lines == ["The model hub cannot be reached: beginning with the embedded model"]
    assert _first(lines, "2\n", _machine(memory=GB // 2)) == "smollm2:135m"
    assert len(lines) == 1


def test_a_first_run_offline_is_told_and_does_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """--offline without any model: one line."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(DownloadError, match="forbidden"):
        ready_model(None, Settings(download=DownloadSettings(offline=True)))


def test_a_named_a_chosen_and_an_installed_model_need_no_first_run() -> None:
    """In this order: the argument, the setting, what is installed."""
    folder = paths.private_dir(paths.models_dir())
    for name in ("a:1b", "b:1b"):
        path = small_gguf(folder / f"{name[0]}.gguf")
        record(stamped(Installed(name=name, parts=(path,), n_bytes=0)))
    assert ready_model("a:1b", Settings(model="b:1b")).name == "a:1b"
    assert ready_model(None, Settings(model="a:1b")).name == "a:1b"
    assert ready_model(None, Settings()).name == "b:1b"


def test_settings_that_cannot_be_written_are_told() -> None:
    """One line that names the file."""
    paths.user_config_file().mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"config\.yaml is a folder"):
        write_user_value("model", "x")
