import pytest

from chatcli.catalogue.entries import Entry, UrlSource, embedded_entry, find_entry
from chatcli.core.errors import ConfigError


def _entry(name: str, *aliases: str) -> Entry:
    return Entry(name=name, file="x.gguf", sources=(UrlSource("https://x"),), aliases=aliases)


ENTRIES = (_entry("qwen3:4b"), _entry("qwen3:8b", "qwen3"), _entry("llama3.2:1b"))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("qwen3:4b", "qwen3:4b"),
        ("QWEN3:4B", "qwen3:4b"),
        ("qwen3", "qwen3:8b"),
        ("llama", "llama3.2:1b"),
        ("qwen", None),
        ("mistral", None),
        ("", None),
    ],
)
def test_a_name_an_alias_or_an_unambiguous_beginning(asked: str, found: str | None) -> None:
    """Exact names come first; a beginning counts if it fits one model only."""
    entry = find_entry(ENTRIES, asked)
    assert (entry.name if entry else None) == found


def test_a_catalogue_without_an_embedded_model_is_told() -> None:
    """The installation is broken then, and the user is told so."""
    with pytest.raises(ConfigError, match="no embedded model"):
        embedded_entry(ENTRIES)
