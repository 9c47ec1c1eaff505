"""Markdown to lines: nothing of the source is lost, and everything fits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.terminal.markdown import Ink, highlight, language_of, render


def plain(source: str, width: int = 60, *, color: bool = True) -> list[str]:
    """Return the rendered lines without styles."""
    return [line.plain for line in render(source, Ink(width, color=color))]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("one\ntwo", ["one", "two"]),
        ("one  \ntwo\\\nthree<br>four", ["one", "two", "three", "four"]),
        ('[here](https://a.org/x?y=1 "t")', ['here (https://a.org/x?y=1 "t")']),
        ("<https://a.org>", ["https://a.org"]),
        ("[https://a.org](https://b.org)", ["https://a.org (https://b.org)"]),
        ("<me@a.org>", ["me@a.org"]),
        ("![alt](a.png) ![](b.png)", ["alt (a.png) b.png"]),
        ("[a]: https://a.org\n\n[a] [b][a]", ["[a]: https://a.org", "", "[a] [b][a]"]),
        ("[x](javascript:alert(1))", ["[x](javascript:alert(1))"]),
        ("a <kbd>b</kbd> &amp; c", ["a <kbd>b</kbd> & c"]),
        ("<div>\n  <p>x\n</div>", ["<div>", "  <p>x", "</div>"]),
        ("- a\n- b\n\n- c", ["• a", "• b", "", "• c"]),
        ("9. a\n10. b\n    - c", ["9. a", "10. b", "    • c"]),
        ("3) a\n4) b", ["3) a", "4) b"]),
        ("- [x] done", ["• [x] done"]),
        ("-\n- b", ["•", "• b"]),
        ("- a\n\n  b\n  > c", ["• a", "", "  b", "  │ c"]),
        ("> a\n>\n> - b\n> - c", ["│ a", "│", "│ • b", "│ • c"]),
        ("- ```sh\n  ls\n\n  rm\n  ```", ["• sh", "  ls", "", "  rm"]),
        ("    indented\n\n    code", ["indented", "", "code"]),
        ("a\n\n***\n\n## b", ["a", "", "─" * 40, "", "b"]),
        ("```\n```", []),
        ("~~gone~~ **bold** *it*", ["gone bold it"]),
    ],
)  # fmt: skip
def test_blocks_and_inlines(source: str, lines: list[str]) -> None:
    """Each construct is shown with all of its text."""
    assert [line.rstrip() for line in plain(source)] == lines


def test_controls_never_come_out_of_an_entity() -> None:
    """A character reference cannot smuggle a control character past the screen's guard."""
    assert plain("a&#27;[31m &#x202e;b &#155;2J") == ["a\ufffd[31m \\u202eb \ufffd2J"]
    assert plain("[x](https://a.org/&#x202e;)")[0].isascii()


def test_code_is_marked_without_colour() -> None:
    """Where colour cannot show that it is code, the backticks stay."""
    assert plain("run `ls`") == ["run ls"]
    assert plain("run `ls` ``a`b``", color=False) == ["run `ls` ``a`b``"]


def test_nesting_without_end_is_shown_as_it_stands() -> None:
    """Nested deeper than the parser goes, the source is shown, not dropped."""
    source = ">" * 200 + " deep"
    assert "".join(plain(source)) == source


def test_deep_nesting_in_a_narrow_terminal() -> None:
    """Containers stop indenting before there is no room for words."""
    source = "\n".join("  " * depth + f"- level {depth}" for depth in range(15))
    lines = plain(source, 24)
    assert all(len(line) <= 24 for line in lines)
    assert [f"level {depth}" in "\n".join(lines) for depth in range(15)] == [True] * 15


@pytest.mark.parametrize("language", ["python", "PY", "nosuchlanguage", "", "json", "diff"])
def test_highlighting_changes_nothing(language: str) -> None:
    """Tabs, blank lines and trailing spaces of code stay, in any language or none."""
    code = "\n\tif x:  \n\n    y = 'é\x1b'\n\n"
    lines = [line.plain for line in highlight(code, language_of(language), Ink(20))]
    assert lines == ["", "\tif x:  ", "", "    y = 'é␛'", ""]


def test_language_names() -> None:
    """The first word of an info string names the language."""
    infos = ["python title=x", "{.sh}", "c++", "", "js{1,3}"]
    assert [language_of(info) for info in infos] == ["python", "sh", "c++", "", "js"]


@settings(deadline=None)
@given(
    st.text(st.sampled_from("ab  \n日。「👩\u200de\u0301\t-*`|>#[1.<"), max_size=60),
    st.integers(2, 30),
)
def test_everything_fits(source: str, width: int) -> None:
    """Whatever is written, no line is wider than the terminal, and no letter is lost."""
    lines = render(source, Ink(width))
    assert all(line.cell_len <= max(width, 2) for line in lines)
    shown = "".join(line.plain for line in lines)
    assert [c for c in shown if c in "ab日👩"] == [c for c in source if c in "ab日👩"]
