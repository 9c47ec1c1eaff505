"""The user's file is written in one step, for the user alone."""

import stat
from pathlib import Path

import pytest

from chatcli.core.errors import ConfigError, StorageError
from chatcli.settings import load_settings
from chatcli.settings.write import replace_text, unset_user_value, write_user_value


def test_a_first_value_makes_the_file(home: Path) -> None:
    """File 0600, folder 0700, and the value is what is read back."""
    file = write_user_value("model", "smollm2:135m")
    assert file == home / ".config" / "chatcli" / "config.yaml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert load_settings(flags={}, environ={}, cwd=None).settings.model == "smollm2:135m"


def test_comments_survive_and_nothing_else_is_left_behind(user_file: Path) -> None:
    """The rest of the file stays; no temporary file remains."""
    user_file.write_text("# mine\nmodel: x # old\n")
    write_user_value("model", "z")
    assert user_file.read_text() == "# mine\nmodel: z # old\n"
    assert unset_user_value("model")
    assert not unset_user_value("model")
    assert user_file.read_text() == "# mine\n"
    assert [entry.name for entry in user_file.parent.iterdir()] == ["config.yaml"]


@pytest.mark.parametrize(("key", "value"), [("modle", "x"), ("engine.threads", "four")])
def test_a_wrong_value_writes_nothing(key: str, value: str, user_file: Path) -> None:
    """The check comes first."""
    with pytest.raises(ConfigError):
        write_user_value(key, value)
    assert not user_file.exists()


def test_a_broken_file_stays_as_it_is(user_file: Path) -> None:
    """Nothing is written over a file that cannot be understood."""
    user_file.write_text("modle: x\n")
    with pytest.raises(ConfigError, match="line 1"):
        write_user_value("model", "z")
    assert user_file.read_text() == "modle: x\n"


def test_a_link_stays_a_link(user_file: Path, home: Path) -> None:
    """A file that lives in a dotfiles repository is written there."""
    real = home / "dotfiles.yaml"
    real.write_text("model: x\n")
    user_file.symlink_to(real)
    write_user_value("model", "z")
    assert user_file.is_symlink()
    assert real.read_text() == "model: z\n"


def test_a_link_to_itself_is_named(user_file: Path) -> None:
    """A loop is an error on reading and on writing, never an endless loop."""
    user_file.symlink_to(user_file)
    with pytest.raises(ConfigError, match="symbolic links"):
        write_user_value("model", "z")
    with pytest.raises((ConfigError, StorageError)):
        replace_text(user_file, "model: z\n")


def test_a_folder_that_cannot_be_written_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file where the folder should be: one line that names the path."""
    (home / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "file"))
    with pytest.raises(StorageError, match="cannot create"):
        write_user_value("model", "z")


def test_a_failed_write_leaves_the_old_file(user_file: Path) -> None:
    """When the last step fails, the old file is whole and no scrap remains."""
    user_file.mkdir()  # a folder cannot be replaced by a file
    with pytest.raises(StorageError, match="cannot write"):
        replace_text(user_file, "model: z\n")
    assert [entry.name for entry in user_file.parent.iterdir()] == ["config.yaml"]
