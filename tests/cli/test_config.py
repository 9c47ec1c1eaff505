"""`chatcli config`, through a small tree of its own."""

import json
import os
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from chatcli.cli.config import register
from chatcli.core.errors import ChatcliError, ConfigError
from chatcli.settings import Settings
from chatcli.settings.document import parse
from chatcli.settings.keys import all_keys

app = typer.Typer()
register(app)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home that is also the current folder; no CHATCLI_ variable is set."""
    for name in [name for name in os.environ if name.startswith("CHATCLI_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def file(home: Path) -> Path:
    """Return the place of the user's file; its folder exists."""
    (home / "xdg" / "chatcli").mkdir(parents=True)
    return home / "xdg" / "chatcli" / "config.yaml"


def run(*words: str) -> Result:
    """Run `config ...`; an error of ours is raised, as `cli.main` would see it."""
    result = CliRunner().invoke(app, ["config", *words])
    if isinstance(result.exception, ChatcliError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_show_prints_a_settings_file_that_says_the_same(file: Path) -> None:
    """The whole output is valid YAML, holds every key, and reads back as the settings."""
    file.write_text("model: 3b\nsystem: 'a: # b'\nsampling:\n  logit_bias: {15: -100}\n")
    entries = parse(run("show").stdout, file)
    assert list(entries) == list(all_keys())
    assert entries["system"].value == "a: # b"
    assert entries["sampling.logit_bias"].value == ((15, -100.0),)
    assert entries["context.overflow"].value == Settings().context.overflow


def test_show_with_origins_names_every_layer(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line ends in a comment: file and line, variable, or default."""
    file.write_text("# c\nmodel: x\n")
    (home / ".chatcli.yaml").write_text("system: s\n")
    monkeypatch.setenv("CHATCLI_SAMPLING_SEED", "4")
    shown = run("show", "--origin").stdout
    assert f"model: x  # {file}:2\n" in shown
    assert f"system: s  # {home / '.chatcli.yaml'}:1\n" in shown
    assert "  seed: 4  # CHATCLI_SAMPLING_SEED\n" in shown
    assert "  batch: 512  # default\n" in shown
    assert yaml.safe_load(shown)["sampling"]["seed"] == 4


def test_one_key_is_shown_bare(file: Path) -> None:
    """For `$(chatcli config show model)`: the value and nothing else."""
    file.write_text('system: "two\\nlines \\e[31m"\nmodel: smollm2:135m\n')
    assert run("show", "model").stdout == "smollm2:135m\n"
    assert run("show", "model", "--origin").stdout == f"smollm2:135m  # {file}:2\n"
    assert run("show", "system").stdout == "two\nlines \u241b[31m\n"
    assert run("show", "context.size").stdout == "null\n"


def test_a_section_is_shown_alone() -> None:
    """A section's name shows its keys."""
    assert run("show", "context").stdout == "context:\n  size: null\n  overflow: error\n"


def test_json_has_the_types(file: Path) -> None:
    """Nested by section; with origins flat by dotted name; one key is one value."""
    file.write_text("engine: {threads: 4}\nsampling: {logit_bias: {1: 2}}\n")
    whole = json.loads(run("show", "--json").stdout)
    assert whole["engine"]["threads"] == 4
    assert whole["model"] is None
    assert whole["sampling"]["logit_bias"] == {"1": 2.0}
    assert json.loads(run("show", "--json", "engine.threads").stdout) == 4
    described = json.loads(run("show", "--json", "--origin", "engine").stdout)
    assert described["engine.threads"] == {
        "value": 4,
        "layer": "user",
        "file": str(file),
        "line": 1,
        "variable": None,
    }


def test_an_unknown_key_is_refused() -> None:
    """The nearest key is named."""
    with pytest.raises(ConfigError, match=r"unknown key sampling\.temprature"):
        run("show", "sampling.temprature")


def test_path_prints_the_path_alone(home: Path) -> None:
    """stdout has the path; that nothing is there yet is a remark on stderr."""
    result = run("path")
    assert result.stdout == f"{home}/xdg/chatcli/config.yaml\n"
    assert "does not exist yet" in result.stderr


def test_set_and_unset_change_the_file_and_say_so(file: Path) -> None:
    """stdout stays empty; a value may begin with a minus."""
    done = run("set", "engine.gpu_layers", "-1")
    assert done.stdout == ""
    assert f"engine.gpu_layers is set in {file}." in done.stderr
    run("set", "sampling.logit_bias", "15=-100")
    assert run("show", "engine.gpu_layers").stdout == "-1\n"
    assert "is removed from" in run("unset", "engine.gpu_layers").stderr
    assert "was not set in" in run("unset", "engine.gpu_layers").stderr
    assert run("show", "sampling.logit_bias").stdout == "{15: -100.0}\n"


def test_set_says_when_another_layer_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change without effect here is announced, not left to be found out."""
    monkeypatch.setenv("CHATCLI_MODEL", "other")
    assert "Here it has no effect: CHATCLI_MODEL wins." in run("set", "model", "x").stderr
    monkeypatch.setenv("CHATCLI_MODLE", "other")
    assert "unknown variable CHATCLI_MODLE" in run("set", "model", "x").stderr


def test_set_refuses_what_the_key_does_not_take(file: Path) -> None:
    """Nothing is written."""
    with pytest.raises(ConfigError, match="wants a whole number"):
        run("set", "engine.threads", "four")
    assert not file.exists()


def editor(home: Path, script: str) -> str:
    """Return a command that edits with a shell script; the file is "$1"."""
    program = home / "editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_edit_starts_from_the_documented_defaults(
    home: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new file is every key with its comment, commented out: valid, and without effect."""
    monkeypatch.setenv("EDITOR", editor(home, "exit 0"))
    assert "is valid" in run("edit").stderr
    text = file.read_text()
    assert parse(text, file) == {}
    assert all(f"#{name.rpartition('.')[2]}: " in text for name in all_keys())
    run("set", "sampling.temperature", "0.5")
    assert "  #temperature: null\n  temperature: 0.5\n" in file.read_text()


def test_edit_says_what_is_wrong_and_keeps_the_file(
    home: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mistake is named with its line; what was typed is not lost; a second edit mends it."""
    monkeypatch.setenv("EDITOR", editor(home, "printf 'model: x\\nmodle: y\\n' > \"$1\""))
    with pytest.raises(ConfigError, match="line 2: unknown key modle"):
        run("edit")
    assert file.read_text() == "model: x\nmodle: y\n"
    monkeypatch.setenv("VISUAL", editor(home, "printf 'model: x\\n' > \"$1\""))
    assert "is valid" in run("edit").stderr


def test_edit_uses_the_editor_of_the_settings(home: Path, file: Path) -> None:
    """terminal.editor is used, with its arguments."""
    program = editor(home, '[ "$1" = --wait ] && echo "system: s" >> "$2"')
    file.write_text(f"terminal:\n  editor: {program} --wait\n")
    run("edit")
    assert file.read_text().endswith("system: s\n")


@pytest.mark.parametrize("script", ["exit 3", "kill -9 $$"])
def test_an_editor_that_fails_is_named(
    script: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its status is in the message."""
    monkeypatch.setenv("EDITOR", editor(home, script))
    with pytest.raises(ChatcliError, match="ended with status"):
        run("edit")


def test_an_editor_that_cannot_run_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is executable but no program is one line, not a traceback."""
    program = home / "broken"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(program))
    with pytest.raises(ConfigError, match="cannot start"):
        run("edit")
