"""A title is one short, plain line."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.sessions.titles import cells, clipped, padded, title_from


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("What is a monad? Explain with code.", "What is a monad?"),
        ("\n\n  # Plan for *today*\nmore", "Plan for today"),
        ("- **Bold** [link](http://x.y) and `code`", "Bold link and code"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("> 1. quoted __init__ of my_var", "quoted init of my_var"),
        ("\x1b[31mred\x07\u202e text", "[31mred text"),
        ("version 1.2 is out. Really", "version 1.2 is out."),
        ("\u4f60\u597d\u3002\u518d\u898b", "\u4f60\u597d\u3002"),
        ("   \n\t\n", ""),
        ("", ""),
        ("word " * 30, "word word word word word word word word word word word word\u2026"[:60]),
    ],
)
def test_titles(text: str, title: str) -> None:
    """The first sentence of the first line that says something, without marks."""
    if text.startswith("word"):
        title = ("word " * 11).rstrip() + "\u2026"
    assert title_from(text) == title


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_any_text_gives_a_safe_short_title(text: str) -> None:
    """At most 60 cells, one line, no control characters."""
    title = title_from(text)
    assert cells(title) <= 60
    assert title == title.strip()
    assert not {unicodedata.category(c) for c in title} & {"Cc", "Cs", "Zl", "Zp"}


def test_wide_characters_count_twice() -> None:
    """And are never cut in two."""
    assert cells("\u6f22\u5b57e\u0301") == 5
    assert clipped("\u6f22\u5b57\u6f22\u5b57", 6) == "\u6f22\u5b57\u2026"
    assert padded("\u6f22", 4) == "\u6f22  "
