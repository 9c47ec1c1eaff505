"""The documented defaults are the program's defaults."""

from pathlib import Path

from chatcli.assets import asset_text
from chatcli.settings import Settings, load_settings
from chatcli.settings.document import parse
from chatcli.settings.keys import all_keys

DEFAULTS = asset_text("config/default.yaml")


def test_default_yaml_says_exactly_the_defaults(user_file: Path, tmp_path: Path) -> None:
    """Loaded as a user's file, config/default.yaml changes nothing."""
    user_file.write_text(DEFAULTS)
    loaded = load_settings(flags={}, environ={}, cwd=tmp_path)
    assert loaded.settings == Settings()
    assert loaded.origin("reply.stop_loops").file == user_file


def test_default_yaml_has_every_key_in_order() -> None:
    """Each key of the dataclasses stands in the file, in their order."""
    assert list(parse(DEFAULTS, Path("default.yaml"))) == list(all_keys())


def test_every_key_of_default_yaml_has_one_line_of_comment() -> None:
    """The line above each key is a comment, and the line above that is not."""
    lines = ["", *DEFAULTS.splitlines()]
    for entry in parse(DEFAULTS, Path("default.yaml")).values():
        above = lines[entry.line - 1].strip()
        assert above.startswith("# "), lines[entry.line]
        assert not lines[entry.line - 2].strip().startswith("#"), lines[entry.line]


def test_default_yaml_marks_what_a_project_may_set() -> None:
    """The mark [project] stands at exactly the keys that a project file may set."""
    lines = ["", *DEFAULTS.splitlines()]
    for name, entry in parse(DEFAULTS, Path("default.yaml")).items():
        assert ("[project]" in lines[entry.line - 1]) == all_keys()[name].in_project, name
