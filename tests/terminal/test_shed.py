"""The top of a tall open block is cut off only where it makes no difference."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.terminal.blocks import Kind
from chatcli.terminal.markdown import Ink, render
from chatcli.terminal.shed import shed

WORDS = st.sampled_from(["alpha", "**bold**", "b", "1.", "-", "日本語", "*it", "`c d`", "x\n", "#"])


def plain(source: str) -> list[str]:
    """Return the rendered lines without styles."""
    return [line.plain for line in render(source, Ink(20))]


@settings(max_examples=30, deadline=None)
@given(st.lists(WORDS, min_size=30, max_size=120).map(" ".join))
def test_the_parts_of_a_paragraph_are_drawn_as_the_whole(words: str) -> None:
    """Where a paragraph is cut, its parts one below the other are the whole."""
    source = f"Begin {words}"
    n = shed(source, "paragraph", Ink(20), 8)
    assert plain(source[:n]) + plain(source[n:]) == plain(source) or n == 0


def test_a_list_is_cut_before_an_item() -> None:
    """Numbers and blank lines go on where they were."""
    source = "".join(f"{i}. item\n    - sub\n" for i in range(1, 20))
    n = shed(source, "list", Ink(20), 8)
    assert source[n:].startswith("18. ")
    assert plain(source[:n]) + plain(source[n:]) == plain(source)


@pytest.mark.parametrize("kind", ["table", "quote", "html", "code"])
def test_other_blocks_stay_whole(kind: Kind) -> None:
    """A table's columns depend on every row: it is not cut."""
    assert shed("> a\n" * 50, kind, Ink(20), 8) == 0


def test_an_open_emphasis_is_not_cut() -> None:
    """A mark that may still find its partner keeps the paragraph whole."""
    assert shed("**" + "word " * 60, "paragraph", Ink(20), 8) == 0
