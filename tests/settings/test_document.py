"""A settings file: every mistake names the file, the line and the remedy."""

from pathlib import Path

import pytest

from chatcli.core.errors import ConfigError
from chatcli.settings.document import parse
from chatcli.settings.keys import Value

FILE = Path("settings.yaml")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("# only a comment\n", {}),
        ("---\n", {}),
        ("sampling:\ncontext: {}\n", {}),
        ("model: 3b", {"model": "3b"}),
        ("model: 3.10", {"model": "3.10"}),
        ("model: 2024-01-01", {"model": "2024-01-01"}),
        ("model:", {"model": None}),
        ('model: "null"', {"model": "null"}),
        ("system: no", {"system": "no"}),
        ("system: |\n  a\n  b\n", {"system": "a\nb\n"}),
        ("engine: {flash_attention: on}", {"engine.flash_attention": "on"}),
        ('engine: {flash_attention: "off"}', {"engine.flash_attention": "off"}),
        ("reply: {stop_loops: off}", {"reply.stop_loops": False}),
        ("sampling:\n  temperature: 1\n", {"sampling.temperature": 1.0}),
        ("sampling: {logit_bias: {15: -100}}", {"sampling.logit_bias": ((15, -100.0),)}),
        ("sampling: {logit_bias: {}}", {"sampling.logit_bias": ()}),
        ("a: &x b\n".replace("a", "model"), {"model": "b"}),
    ],
)
def test_values_are_typed_by_their_key(text: str, values: dict[str, Value]) -> None:
    """YAML's own guesses about plain words do not count."""
    assert {name: entry.value for name, entry in parse(text, FILE).items()} == values


def test_entries_know_their_line() -> None:
    """Lines are counted from 1, comments and blank lines included."""
    found = parse("# c\n\nmodel: x\nsampling:\n  # c\n  top_k: 3\n", FILE)
    assert {name: entry.line for name, entry in found.items()} == {"model": 3, "sampling.top_k": 6}


@pytest.mark.parametrize(
    ("text", "line", "says", "hint"),
    [
        ("modle: x", 1, "unknown key modle", "Did you mean model?"),
        ("\nsampling:\n  temprature: 1", 3, "unknown key", "sampling.temperature"),
        ("samplng: {}", 1, "unknown key samplng", "Did you mean sampling?"),
        ("sampling.top_k: 1", 1, "unknown key", "Write top_k: below sampling:"),
        ("<<: {model: x}", 1, "unknown key", ""),
        ("model: x\nmodel: y", 2, "already set on line 1", "Keep one"),
        ("reply: {}\nreply: {}", 2, "already set on line 1", "Keep one"),
        ("sampling: 3", 1, "sampling is a section", "top_k"),
        ("engine:\n  threads: four", 2, "whole number from 1 to 512", ""),
        ("engine: {threads: '4'}", 1, 'not the text "4"', ""),
        ("engine: {flash_attention: aut}", 1, "one of auto, on, off", "Did you mean auto?"),
        ("context: {size: 10}", 1, "of at least 64", ""),
        ("system:", 1, "system wants text, not null", ""),
        ("model: [a]", 1, "not a list", ""),
        ("model: {a: b}", 1, "not a section", ""),
        ("model: &a [*a]", 1, "not a list", ""),
        ("sampling: {logit_bias: {1: [2]}}", 1, "not a nested section", ""),
        ("model: !!python/name:os.system x", 1, "the tag", ""),
        ("? [a]\n: b", 1, "a key must be a word", ""),
        ("- model", 1, "lines of `key: value`", ""),
        ("just words", 1, "lines of `key: value`", ""),
        ("model: x\n---\nmodel: y", 2, "a second document", "Keep one"),
        ("sampling:\n\ttop_k: 3", 2, "a tab in the indentation", "spaces"),
        ("model: a: b", 1, "mapping values are not allowed", ""),
        ("model: 'x", 1, "end of stream", ""),
        ("model: [", 1, "", ""),
        ("&a model: *b", 1, "undefined alias", ""),
        ("model: x\n# \x07", 2, "a control character (U+0007)", "Remove it"),
        ("[" * 50_000, 1, "", ""),
        ("{a: " * 50_000, 1, "", ""),
    ],
)
def test_a_mistake_names_file_line_and_remedy(text: str, line: int, says: str, hint: str) -> None:
    """One line: where, what, and what to do."""
    with pytest.raises(ConfigError) as error:
        parse(text, FILE)
    assert error.value.message.startswith(f"{FILE}, line {line}: ")
    assert says in error.value.message
    assert hint in error.value.hint
    assert "\n" not in str(error.value)


def test_control_characters_of_a_key_are_shown_not_obeyed() -> None:
    """An escaped control character in a key cannot reach the terminal."""
    with pytest.raises(ConfigError) as error:
        parse('"\\e[31m": x', FILE)
    assert "\x1b" not in str(error.value)
