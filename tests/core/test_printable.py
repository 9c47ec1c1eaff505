"""Control characters are shown, never obeyed."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from chatcli.core.printable import model_label, visible, visible_line


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_nothing_a_terminal_obeys_is_left(text: str) -> None:
    """After `visible`, only tab and line feed remain of the control characters."""
    left = {c for c in visible(text) if unicodedata.category(c) in {"Cc", "Cs"}}
    assert left <= {"\n", "\t"}


def test_an_escape_sequence_is_readable() -> None:
    """The user sees what was sent."""
    assert visible("a\x1b[31mb\x9bc\r\nd") == "a\u241b[31mb\\x9bc\nd"


def test_a_title_is_one_line() -> None:
    """Line feeds cannot forge a second row in a list."""
    assert visible_line(" a\n\tb\x07 ") == "a b\u2407"


def test_ordinary_text_is_unchanged() -> None:
    """Emoji with joiners, CJK and right-to-left text stay as they are."""
    text = "naïve 👩‍👩‍👧 漢字 שלום\n"
    assert visible(text) == text


def test_a_model_is_shown_by_its_files_name() -> None:
    """A path would fill the line; a catalogue name or a hub reference stays whole."""
    assert model_label("/home/me/models/Tiny-Q4.gguf") == "Tiny-Q4.gguf"
    assert model_label("hf.co/user/repo:Q4") == "hf.co/user/repo:Q4"
    assert model_label("qwen3:4b") == "qwen3:4b"
