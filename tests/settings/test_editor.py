"""Which editor is opened."""

from pathlib import Path

import pytest

from chatcli.core.errors import ConfigError
from chatcli.settings.editor import editor_command


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """Return a PATH folder that holds three programs."""
    for name in ("one", "two", "vi"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def test_the_setting_comes_first_then_visual_then_editor(bin_folder: Path) -> None:
    """terminal.editor > VISUAL > EDITOR > what is installed; arguments are kept."""
    environ = {"PATH": str(bin_folder), "VISUAL": "two", "EDITOR": "vi"}
    assert editor_command("one --wait 'a b'", environ) == ["one", "--wait", "a b"]
    assert editor_command(None, environ) == ["two"]
    assert editor_command(None, environ | {"VISUAL": " "}) == ["vi"]
    assert editor_command(None, {"PATH": str(bin_folder)}) == ["vi"]


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"EDITOR": "nothing-like-it"}, "the editor nothing-like-it"),
        ({"VISUAL": "one 'open"}, "VISUAL=one 'open is not a command line"),
        ({}, "no text editor was found"),
    ],
)
def test_an_editor_that_cannot_be_started_is_named(
    environ: dict[str, str], says: str, tmp_path: Path
) -> None:
    """The message says which one, and from where."""
    with pytest.raises(ConfigError, match=says):
        editor_command(None, environ | {"PATH": str(tmp_path)})
