"""The shipped files can be read."""

import pytest

from chatcli.assets import asset_text


def test_a_shipped_file_is_read_by_its_repository_name() -> None:
    """config/default.yaml is found, whether installed or in the repository."""
    assert "sampling:" in asset_text("config/default.yaml")


def test_an_unknown_file_is_an_error() -> None:
    """A name that is not shipped raises; it is a bug of ours, not the user's."""
    with pytest.raises(FileNotFoundError):
        asset_text("config/nothing.yaml")
