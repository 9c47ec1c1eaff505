"""One value changes; every other character stays."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.assets import asset_text
from chatcli.core.errors import ConfigError
from chatcli.settings.document import parse
from chatcli.settings.edit import with_value, without_value
from chatcli.settings.keys import Value

FILE = Path("settings.yaml")


@pytest.mark.parametrize(
    ("before", "name", "value", "after"),
    [
        ("", "model", "x", "model: x\n"),
        ("# c", "sampling.top_k", 3, "# c\nsampling:\n  top_k: 3\n"),
        ("model: x  # why\n", "model", "z", "model: z  # why\n"),
        ("model:  # why\n", "model", "z", "model: z  # why\n"),
        ('model: "x"\nsystem: b', "model", None, "model: null\nsystem: b"),
        ("system: |\n  a\n  b\n# c\nmodel: x\n", "system", "s", "system: s\n# c\nmodel: x\n"),
        ("system:\n  two\n  lines\nmodel: x\n", "system", "s", "system: s\nmodel: x\n"),
        (
            "sampling:\n    top_k: 3 # c\n    # more\n\nmodel: x\n",
            "sampling.seed",
            1,
            "sampling:\n    top_k: 3 # c\n    seed: 1\n    # more\n\nmodel: x\n",
        ),
        ("sampling: {top_k: 3,}\n", "sampling.seed", 1, "sampling: {top_k: 3, seed: 1,}\n"),
        ("sampling: {}\n", "sampling.seed", 1, "sampling: {seed: 1}\n"),
        ("sampling: {seed: 4, top_k: 3}", "sampling.seed", 1, "sampling: {seed: 1, top_k: 3}"),
        ("sampling: # c\nmodel: x\n", "sampling.seed", 1, "sampling: # c\n  seed: 1\nmodel: x\n"),
        ("sampling: null\n", "sampling.seed", 1, "sampling: {seed: 1}\n"),
        ("{model: x}\n", "reply.stop_loops", False, "{model: x, reply: {stop_loops: false}}\n"),
        ("---\nmodel: x\n...\n", "system", "s", "---\nmodel: x\nsystem: s\n...\n"),
        ("model: x\r\n", "system", "s", "model: x\r\nsystem: s\r\n"),
        ("#model: null\n\nreply:\n", "model", "m", "#model: null\nmodel: m\n\nreply:\n"),
        (
            "sampling:\n  logit_bias:\n    1: 2\n    3: 4\nmodel: x\n",
            "sampling.logit_bias",
            ((5, 6.0),),
            "sampling:\n  logit_bias: {5: 6.0}\nmodel: x\n",
        ),
    ],
)
def test_setting_keeps_the_layout(before: str, name: str, value: Value, after: str) -> None:
    """Comments, order, indentation and line ends stay as they were."""
    assert with_value(before, name, value, FILE) == after


@pytest.mark.parametrize(
    ("before", "name", "after"),
    [
        ("model: x  # why\n# c\nsystem: s\n", "model", "# c\nsystem: s\n"),
        ("model: x", "model", ""),
        ("model: x\n", "system", "model: x\n"),
        ("system: |\n  a\n\n  b\nmodel: x\n", "system", "model: x\n"),
        ("sampling:\n  seed: 1\nmodel: x\n", "sampling.seed", "model: x\n"),
        (
            "sampling:\n  # c\n  seed: 1\nmodel: x\n",
            "sampling.seed",
            "sampling:\n  # c\nmodel: x\n",
        ),
        ("sampling:\n  seed: 1\n  top_k: 2\n", "sampling.seed", "sampling:\n  top_k: 2\n"),
        ("sampling: {seed: 1, top_k: 2}\n", "sampling.seed", "sampling: {top_k: 2}\n"),
        ("sampling: {seed: 1, top_k: 2}\n", "sampling.top_k", "sampling: {seed: 1}\n"),
        ("sampling: {seed: 1}\n", "sampling.seed", "sampling: {}\n"),
    ],
)
def test_unsetting_removes_its_lines_only(before: str, name: str, after: str) -> None:
    """The entry goes, and its section with it when nothing else is there."""
    assert without_value(before, name, FILE) == after


def test_a_layout_that_cannot_be_edited_is_refused() -> None:
    """An anchor that another key uses is not pulled from under it."""
    text = "model: &m x\nsystem: *m\n"
    with pytest.raises(ConfigError, match="does not let model be changed"):
        with_value(text, "model", "z", FILE)
    with pytest.raises(ConfigError, match="does not let model be changed"):
        without_value(text, "model", FILE)


def test_a_broken_file_is_not_edited() -> None:
    """The mistake that is already there is named instead."""
    with pytest.raises(ConfigError, match="line 1: unknown key modle"):
        with_value("modle: x\n", "system", "s", FILE)


_values = st.sampled_from(
    [
        ("model", "a/b:c"),
        ("model", None),
        ("system", "two\nlines: # 'no' comment"),
        ("sampling.temperature", 0.25),
        ("sampling.seed", 7),
        ("sampling.logit_bias", ((1, 2.0), (3, -4.5))),
        ("reply.stop_loops", False),
        ("engine.flash_attention", "on"),
        ("terminal.editor", "code --wait"),
    ]
)


@settings(max_examples=50, deadline=None)  # YAML in Python: 15 ms a parse
@given(st.lists(st.tuples(_values, st.booleans()), max_size=8), st.booleans())
def test_any_series_of_edits_leaves_what_was_asked(
    steps: list[tuple[tuple[str, Value], bool]], documented: bool
) -> None:
    """Set and unset in any order: the file says what a dictionary would, all comments kept."""
    text = asset_text("config/default.yaml") if documented else "# mine\nmodel: old # c\n"
    comments = text.count("# ")
    said = {name: entry.value for name, entry in parse(text, FILE).items()}
    for (name, value), keep in steps:
        if keep:
            text = with_value(text, name, value, FILE)
            said[name] = value
        else:
            text = without_value(text, name, FILE)
            said.pop(name, None)
        assert {key: entry.value for key, entry in parse(text, FILE).items()} == said
    if documented:
        assert text.count("# ") >= comments
