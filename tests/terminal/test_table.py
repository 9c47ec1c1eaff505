"""Tables fit the width, in columns or as records."""

from rich.text import Text

from chatcli.terminal.markdown import Ink, render
from chatcli.terminal.table import layout


def plain(source: str, width: int = 60) -> list[str]:
    """Return the rendered lines without styles."""
    return [line.plain for line in render(source, Ink(width))]


def test_a_table_in_columns() -> None:
    """Cells are aligned as the delimiter row says; surplus cells are kept."""
    source = "| a | num | mid |\n|:--|--:|:-:|\n| x | 1 | m |\n| long cell | 1,000 | y | more |"
    assert plain(source) == [
        "a            num  mid",
        "─────────  ─────  ───  ────",
        "x              1   m",
        "long cell  1,000   y   more",
    ]


def test_a_table_is_wrapped_then_told_as_records() -> None:
    """At 40 columns cells wrap; where words no longer fit beside each other, rows are listed."""
    source = (
        "| name | what it is |\n|---|---|\n| first | some words that must be wrapped |\n| b | c |"
    )
    assert plain(source, 24) == [
        "name   what it is",
        "─────  ─────────────────",
        "first  some words that",
        "       must be wrapped",
        "",
        "b      c",
    ]
    assert plain(source, 10) == [
        "name:", "first", "what it", "is: some", "words that", "must be", "wrapped", "",
        "name: b", "what it", "is: c",
    ]  # fmt: skip
    assert plain("| longheader | otherheader |\n|---|---|", 12) == ["longheader", "otherheader"]


def test_wide_characters_in_a_table() -> None:
    """Chinese and emoji take two columns each."""
    source = "| 名 | x |\n|---|---|\n| 日本語 | 1 |\n| 👩‍👩‍👧 | 2 |"
    assert plain(source) == ["名      x", "──────  ───", "日本語  1", "👩‍👩‍👧      2"]


def test_an_empty_row_is_no_crash() -> None:
    """A table of empty cells is drawn."""
    assert layout([[Text(), Text()]], ["", ""], 20, Ink(20).style("rule"))[0].plain == ""
