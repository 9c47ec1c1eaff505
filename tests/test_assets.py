import pytest

from chatcli.assets import asset_path, asset_text
from chatcli.core.errors import StorageError


def test_the_catalogue_is_found_in_a_checkout() -> None:
    """Without a packaged copy the repository's own folders are used."""
    assert asset_path("models/catalogue.yaml").name == "catalogue.yaml"
    assert "smollm2:135m" in asset_text("models/catalogue.yaml")


def test_an_incomplete_installation_is_told() -> None:
    """A missing asset is one line with a remedy."""
    with pytest.raises(StorageError, match=r"models/absent\.yaml is missing"):
        asset_text("models/absent.yaml")
