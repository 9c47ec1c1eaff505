"""Lines are broken where they may be, at the width that a terminal draws."""

import pytest
from rich.text import Text

from chatcli.terminal.wrap import chop, longest_unit, wrap


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("abcdefghij k", 4, ["abcd", "efgh", "ij k"]),
        ("これは、長い。", 6, ["これ", "は、長", "い。"]),
        ("「漢字」かな", 6, ["「漢", "字」か", "な"]),
        ("ab 日本語", 6, ["ab 日", "本語"]),
        ("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 4, ["👩‍👩‍👧👩‍👩‍👧", "👩‍👩‍👧"]),
        ("e\u0301e\u0301e\u0301", 2, ["e\u0301e\u0301", "e\u0301"]),
        ("  two  spaces", 8, ["  two", "spaces"]),
        ("a\n\nb", 5, ["a", "", "b"]),
        ("", 5, [""]),
        ("日本", 1, ["日", "本"]),
    ],
)
def test_wrap(text: str, width: int, lines: list[str]) -> None:
    """Lines break at spaces and between wide characters, never inside a cluster."""
    assert [line.plain for line in wrap(Text(text), width)] == lines


def test_chop_keeps_every_space() -> None:
    """Code is cut at the edge; nothing of it is dropped, tabs become spaces."""
    lines = [line.plain for line in chop(Text("a   b\tcd"), 3)]
    assert lines == ["a  ", " b ", "  c", "d"]


def test_longest_unit() -> None:
    """A column needs at least its longest word; Chinese text can break anywhere."""
    assert longest_unit(Text("a long-word 日本語")) == 9
    assert longest_unit(Text("日本語")) == 2
    assert longest_unit(Text("")) == 0


def test_styles_stay_with_their_words() -> None:
    """A style that spans a break goes on behind it."""
    lines = wrap(Text("plain ").append("bold bold", "bold"), 10)
    assert [(line.plain, [span.style for span in line.spans]) for line in lines] == [
        ("plain bold", ["bold"]),
        ("bold", ["bold"]),
    ]
