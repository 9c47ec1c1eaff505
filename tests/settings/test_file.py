"""Reading a settings file, and the reader that needs no YAML parser."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.core.errors import ConfigError
from chatcli.settings.document import parse
from chatcli.settings.file import MAX_FILE_BYTES, read_text, simple

FILE = Path("settings.yaml")

_WORDS = """
x|3b|null|NULL|~|on|No|true|1|-1|0.5|1:30|a:b|a:|-|--- a|"q"|'q'|"a#b"|'null'|"\\n"|# c|x # c|x#c
> |&a b|*a|!t b|{}|[a]|a b|a, b|@a|%a|`a|...|<<|2024-01-01|auto| |x  |'x' # c|'it''s'|"a"b|.|0x1f|
"""
_NOISE = (
    "# c\n|\n|   \n|model: x\n|  seed: 1\n|   seed: 1\n|  x\n|- a\n|---\n|...\n|\t\n|a\x85b: c\n"
)
_ENDS = st.sampled_from(["\n", "\n", "\n", "\n", "\n", "\n", " \n", "\r\n", "\u2028", ""])
_words = st.sampled_from(re.split(r"[|\n]", _WORDS))


def _line(start: str) -> st.SearchStrategy[str]:
    gap = st.sampled_from([" ", " ", " ", "  ", ""])
    return st.builds(lambda gap, word, end: f"{start}:{gap}{word}{end}", gap, _words, _ENDS)


def _section(name: str, *leaves: str) -> st.SearchStrategy[str]:
    lines = st.tuples(*(st.just("") | _line(leaf) for leaf in leaves))
    head = st.sampled_from([f"{name}:\n", f"{name}: # c\n", f"\n{name}:\n"])
    return st.builds(lambda head, lines: head + "".join(lines), head, lines)


_BLOCKS = (
    *(_line("model"), _line("system"), _line("# model")),
    _section("sampling", "  top_k", "  seed", "  logit_bias"),
    _section("reply", " stop_loops", " max_tokens"),
    _section("engine", "    flash_attention", "    threads"),
)


@st.composite
def _documents(draw: st.DrawFn) -> str:
    """Return a settings file: some blocks in some order, now and then a stray line."""
    chosen = draw(st.lists(st.integers(0, len(_BLOCKS) - 1), unique=True, min_size=1, max_size=3))
    blocks = [draw(_BLOCKS[place]) for place in chosen]
    if draw(st.integers(0, 4)) == 0:
        noise = draw(st.sampled_from(_NOISE.split("|")))
        blocks.insert(draw(st.integers(0, len(blocks))), noise)
    return "".join(blocks)


@settings(max_examples=300, deadline=None)
@given(_documents())
def test_where_the_simple_reader_answers_yaml_says_the_same(text: str) -> None:
    """Values and lines are those of the YAML parser, and none is taken that it refuses."""
    found = simple(text)
    if found is not None:
        assert found == parse(text, FILE)


def test_the_simple_reader_answers_for_plain_files() -> None:
    """What `config set` writes, with comments, quotes and sections, needs no YAML."""
    text = '# c\n\nmodel: a/b:c  # d\nsystem: "a # b"\nsampling:\n  # c\n  top_k: 3\nreply:\n'
    found = simple(text)
    assert found == parse(text, FILE)
    assert found is not None
    assert found["sampling.top_k"] == (3, 7)
    assert found["system"] == ("a # b", 4)


@pytest.mark.parametrize(
    "text",
    [
        "model: a b",
        "model: x\nmodel: y",
        "modle: x",
        "sampling:\n\ttop_k: 3",
        "engine: {threads: 4}",
        "engine:\n  threads: four",
        "engine:\n  threads: '4'",
        "engine:\n  threads: 4\n   batch: 3",
        "  model: x",
        "model:",
        "system: null",
        'system: "a\\nb"',
        "model: x\r\n",
    ],
)
def test_the_simple_reader_leaves_the_rest_to_yaml(text: str) -> None:
    """Anything else, and any mistake, is not its business."""
    assert simple(text) is None


def test_no_file_is_no_text(tmp_path: Path) -> None:
    """A file, or a folder on its way, that does not exist is simply not there."""
    assert read_text(tmp_path / "none.yaml") is None
    (tmp_path / "file").write_text("")
    assert read_text(tmp_path / "file" / "none.yaml") is None


def test_a_byte_order_mark_is_not_text(tmp_path: Path) -> None:
    """Windows editors put one; it is dropped."""
    (tmp_path / "c.yaml").write_bytes(b"\xef\xbb\xbfmodel: x\n")
    assert read_text(tmp_path / "c.yaml") == "model: x\n"


def test_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    """A folder of the file's name is an error that says so."""
    with pytest.raises(ConfigError, match="is a folder"):
        read_text(tmp_path)


def test_a_pipe_in_its_place_does_not_block(tmp_path: Path) -> None:
    """A named pipe is refused before it is opened."""
    os.mkfifo(tmp_path / "c.yaml")
    with pytest.raises(ConfigError, match="not a regular file"):
        read_text(tmp_path / "c.yaml")


def test_links_that_lead_nowhere_are_named(tmp_path: Path) -> None:
    """A link to itself and a link to nothing are errors, not "no settings"."""
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    with pytest.raises(ConfigError, match=r"cannot read .*loop.yaml"):
        read_text(tmp_path / "loop.yaml")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="which does not exist"):
        read_text(tmp_path / "gone.yaml")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """What the system says stands in the message; a name too long fails for root as well."""
    with pytest.raises(ConfigError, match=r"cannot read .*too long"):
        read_text(tmp_path / ("x" * 300))


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    """Nothing beyond the cap is read."""
    (tmp_path / "c.yaml").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(ConfigError, match="more than 256 KB"):
        read_text(tmp_path / "c.yaml")


def test_bytes_that_are_no_text_are_named_by_line(tmp_path: Path) -> None:
    """A Latin-1 letter on line 2 is found there."""
    (tmp_path / "c.yaml").write_bytes(b"model: x\nsystem: \xe9t\xe9\n")
    with pytest.raises(ConfigError, match=r"line 2: this is not UTF-8"):
        read_text(tmp_path / "c.yaml")
