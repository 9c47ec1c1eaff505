from pathlib import Path

import pytest

from chatcli.core.errors import StorageError
from chatcli.paths import data_dir, expanded, home, private_dir, state_dir


def test_parents_are_private_too(tmp_path: Path) -> None:
    """Every folder that is made can be read by the user alone."""
    deep = private_dir(tmp_path / "a" / "b" / "c")
    for folder in (deep, deep.parent, deep.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert private_dir(deep) == deep


def test_a_file_in_the_way_is_one_line(tmp_path: Path) -> None:
    """What cannot be made is an error of ours."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot create"):
        private_dir(tmp_path / "file" / "folder")


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container with an unknown user id: one line, unless every XDG folder is set."""
    monkeypatch.setenv("HOME", "~")  # makes `Path.home` raise, as a missing passwd entry does
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert home() is None
    assert state_dir() == Path("/somewhere/chatcli")
    with pytest.raises(StorageError, match=r"no home folder\. Set HOME"):
        data_dir()


def test_a_tilde_that_leads_nowhere_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`~` is the home folder; a user that does not exist is a name like any other."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expanded("~/x") == tmp_path / "x"
    assert expanded("~no-such-user/x") == Path("~no-such-user/x")
