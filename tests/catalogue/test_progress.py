import pytest

from chatcli.catalogue.progress import readable_bytes


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "1 kB"),
        (999_999, "999 kB"),
        (98_362_432, "98 MB"),
        (4_650_000_000, "4.7 GB"),
    ],
)
def test_sizes_are_written_as_people_write_them(n: int, text: str) -> None:
    """Decimal units, as file managers and hubs use them; never an empty size."""
    assert readable_bytes(n) == text
