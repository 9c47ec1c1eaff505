from pathlib import Path

import pytest

from chatcli.core.errors import StorageError
from chatcli.paths import private_dir


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
