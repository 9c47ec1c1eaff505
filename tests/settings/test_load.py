"""Layers: the later one wins, and every value knows where it is from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chatcli
from chatcli.core.errors import ConfigError
from chatcli.settings import Settings, load_settings
from chatcli.settings.load import project_file


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    """No file, no variable, no flag: the settings are the defaults, and say so."""
    loaded = load_settings(flags={}, environ={"PATH": "/bin"}, cwd=tmp_path)
    assert loaded.settings == Settings()
    assert loaded.origin("model") == ("default", None, None, None)
    assert str(loaded.origin("engine.threads")) == "default"


@settings(deadline=None)  # it writes files
@given(present=st.sets(st.sampled_from(["user", "project", "environment", "flag"])))
def test_the_last_layer_that_speaks_wins(
    present: set[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Over every subset of layers: the highest one present gives value and origin."""
    home = tmp_path_factory.mktemp("home")
    user, project = home / "chatcli" / "config.yaml", home / "work" / ".chatcli.yaml"
    for layer, file in (("user", user), ("project", project)):
        file.parent.mkdir()
        file.write_text(f"model: {layer}\n" if layer in present else "")
    environ = {"CHATCLI_MODEL": "environment"} if "environment" in present else {}
    flags = {"model": "flag" if "flag" in present else None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(home))
        loaded = load_settings(flags=flags, environ=environ, cwd=project.parent)
    ranked = [name for name in ("user", "project", "environment", "flag") if name in present]
    assert loaded.settings.model == (ranked[-1] if ranked else None)
    assert loaded.origin("model").layer == (ranked[-1] if ranked else "default")


def test_layers_merge_key_by_key(user_file: Path, tmp_path: Path) -> None:
    """Two layers that set different keys of one section both count."""
    user_file.write_text("sampling:\n  temperature: 0.5\n  top_k: 5\n")
    environ = {"CHATCLI_SAMPLING_TOP_K": "7", "CHATCLI_THREADS": "2"}
    loaded = load_settings(flags={"sampling.seed": 3}, environ=environ, cwd=tmp_path)
    sampling = loaded.settings.sampling
    assert (sampling.temperature, sampling.top_k, sampling.seed) == (0.5, 7, 3)
    assert loaded.value("engine.threads") == 2
    assert str(loaded.origin("sampling.temperature")) == f"{user_file}:2"
    assert str(loaded.origin("sampling.top_k")) == "CHATCLI_SAMPLING_TOP_K"
    assert str(loaded.origin("sampling.seed")) == "flag"


def test_null_in_a_higher_layer_takes_a_value_back(user_file: Path, tmp_path: Path) -> None:
    """null is a value: not set, whatever the layer below says."""
    user_file.write_text("model: x\n")
    loaded = load_settings(flags={}, environ={"CHATCLI_MODEL": "null"}, cwd=tmp_path)
    assert loaded.settings.model is None


def test_a_file_that_needs_yaml_is_read_as_well(user_file: Path, tmp_path: Path) -> None:
    """Flow style, anchors and block texts are YAML, and YAML is what the file is."""
    user_file.write_text("sampling: {top_k: 5}\nsystem: |\n  Be brief.\n")
    settings = load_settings(flags={}, environ={}, cwd=tmp_path).settings
    assert (settings.sampling.top_k, settings.system) == (5, "Be brief.\n")


@pytest.mark.parametrize(
    ("environ", "says", "hint"),
    [
        ({"CHATCLI_MODLE": "x"}, "unknown variable CHATCLI_MODLE", "CHATCLI_MODEL"),
        ({"CHATCLI_TEMPERATURE": "1"}, "unknown variable", "CHATCLI_SAMPLING_TEMPERATURE"),
        ({"CHATCLI_": "1"}, "unknown variable CHATCLI_", ""),
        ({"CHATCLI_OFFLINE": "perhaps"}, "CHATCLI_OFFLINE: download.offline wants true", ""),
        ({"CHATCLI_CONTEXT_SIZE": "big"}, "CHATCLI_CONTEXT_SIZE: context.size wants a whole", ""),
    ],
)
def test_a_wrong_variable_is_named(
    environ: dict[str, str], says: str, hint: str, tmp_path: Path
) -> None:
    """An unknown variable gets the nearest name; a wrong value names the variable."""
    with pytest.raises(ConfigError) as error:
        load_settings(flags={}, environ=environ, cwd=tmp_path)
    assert says in error.value.message
    assert hint in error.value.hint


def test_variables_that_are_not_settings_are_let_through(tmp_path: Path) -> None:
    """CHATCLI_DEBUG is the command line's; an empty variable is not set."""
    environ = {"CHATCLI_DEBUG": "1", "CHATCLI_MODEL": ""}
    assert load_settings(flags={}, environ=environ, cwd=tmp_path).settings == Settings()


def test_the_derived_name_wins_over_the_short_one(tmp_path: Path) -> None:
    """Two names of one key: the exact one counts."""
    environ = {"CHATCLI_ENGINE_THREADS": "2", "CHATCLI_THREADS": "3"}
    loaded = load_settings(flags={}, environ=environ, cwd=tmp_path)
    assert loaded.settings.engine.threads == 2


@pytest.mark.parametrize(
    "flags", [{"modle": "x"}, {"engine.threads": "four"}, {"engine.threads": 0}]
)
def test_a_wrong_flag_is_named(flags: dict[str, object], tmp_path: Path) -> None:
    """An unknown key or a wrong value from the command line says that it is from there."""
    with pytest.raises(ConfigError, match=r"^command line: "):
        load_settings(flags=flags, environ={}, cwd=tmp_path)


def test_an_origin_of_no_key_is_an_error(tmp_path: Path) -> None:
    """Asking for an unknown key is refused like setting one."""
    loaded = load_settings(flags={}, environ={}, cwd=tmp_path)
    with pytest.raises(ConfigError, match="unknown key"):
        loaded.origin("modle")


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("model: x\ndownload:\n  offline: false\n", "download.offline", 3),
        ("download:\n  hub: https://example.org\n", "download.hub", 2),
        ("sessions:\n  log: true\n", "sessions.log", 2),
        ("terminal: {editor: evil}\n", "terminal.editor", 1),
        ("engine:\n  template: /etc/passwd\n", "engine.template", 2),
    ],
)
def test_a_project_cannot_widen_anything(
    text: str, key: str, line: int, user_file: Path, home: Path
) -> None:
    """The refusal names file, line and key, and says where the key belongs."""
    file = home / ".chatcli.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_settings(flags={}, environ={}, cwd=home)
    assert error.value.message == f"{file}, line {line}: a project may not set {key}"
    assert str(user_file) in error.value.hint


def test_a_project_chooses_model_and_style(home: Path) -> None:
    """Model, system prompt, sampling and looks are a project's to choose."""
    text = "model: m\nsystem: s\nsampling:\n  seed: 1\nterminal:\n  theme: dark\n"
    (home / ".chatcli.yaml").write_text(text)
    loaded = load_settings(flags={}, environ={}, cwd=home)
    assert (loaded.settings.model, loaded.settings.terminal.theme) == ("m", "dark")
    assert loaded.origin("model").layer == "project"
    assert load_settings(flags={}, environ={}, cwd=None).settings == Settings()


def test_the_nearest_project_file_counts_up_to_the_repository(home: Path) -> None:
    """The search climbs to the root of the git repository and no further."""
    deep = home / "repo" / "a" / "b"
    deep.mkdir(parents=True)
    (home / ".chatcli.yaml").touch()
    assert project_file(deep) == home / ".chatcli.yaml"
    (home / "repo" / ".git").mkdir()
    assert project_file(deep) is None
    (home / "repo" / ".chatcli.yaml").touch()
    assert project_file(deep) == home / "repo" / ".chatcli.yaml"
    (deep / ".chatcli.yaml").touch()
    assert project_file(deep) == deep / ".chatcli.yaml"


def test_outside_home_and_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    """A file that someone left in /tmp does not reach into the folders below it."""
    (tmp_path / "sub").mkdir()
    (tmp_path / ".chatcli.yaml").touch()
    assert project_file(tmp_path / "sub") is None
    assert project_file(tmp_path) == tmp_path / ".chatcli.yaml"


@pytest.mark.parametrize("text", ["", "model: x  # plain\nsampling:\n  top_k: 3\n"])
def test_plain_settings_never_import_yaml(text: str, user_file: Path, tmp_path: Path) -> None:
    """Neither without a settings file nor with one of plain lines is yaml loaded."""
    if text:
        user_file.write_text(text)
    code = (
        "import os, sys; from pathlib import Path; from chatcli.settings import load_settings;"
        "load_settings(flags={'model': 'x'}, environ={}, cwd=Path.cwd());"
        "sys.exit('yaml' in sys.modules)"
    )
    environ = os.environ | {"PYTHONPATH": str(Path(chatcli.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], check=False, cwd=tmp_path, env=environ)
    assert done.returncode == 0
