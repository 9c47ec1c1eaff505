"""Blocks are cut where CommonMark ends them, however the text arrives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.terminal.blocks import Splitter, opening_fence, parser

LINES = [
    "", "", "Some words", "more  ", "# Title", "===", "---", "***", "- one", "- two", "* star",
    "+ plus", "1. one", "2. two", "2) two", "10. ten", "  - nested", "    deep", "   three",
    "> quote", ">> twice", "> - item", "```", "```py", "````", "~~~", "  ```", "    ```",
    "- ```", "| a | b |", "|---|---|", "a | b", "--- | ---", "| 1 | 2 | 3 |", "<div>", "</div>",
    "<!-- note", "-->", "<b>bold</b>", "<pre>", "</pre>", "[ref]: https://example.org",
    "[ref]", "\tTabbed", "**bold", "`tick", "日本語", "-", "1.", "#", ">", "2024 was", "\\",
]  # fmt: skip
texts = st.lists(st.sampled_from(LINES), max_size=14).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "\n".join(lines) + "\n"])
)


def split(*pieces: str) -> list[str]:
    """Return the blocks of a text given in pieces."""
    splitter = Splitter()
    blocks: list[str] = []
    for piece in pieces:
        blocks += splitter.feed(piece)
    return [*blocks, *splitter.flush()]


@given(texts, st.data())
def test_borders_do_not_depend_on_the_cuts(text: str, data: st.DataObject) -> None:
    """Any cutting gives the same blocks; finished and open together are always the text."""
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    splitter = Splitter()
    finished: list[str] = []
    said = ""
    for piece in pieces:
        finished += splitter.feed(piece)
        said += piece
        assert "".join(finished) + splitter.open == said
    finished += splitter.flush()
    assert finished == split(text) == split(*text)


def _starts(text: str) -> list[int]:
    return [t.map[0] for t in parser().parse(text) if t.level == 0 and t.nesting >= 0 and t.map]


@given(texts)
def test_borders_are_those_of_the_whole_text(text: str) -> None:
    """The blocks, parsed alone, begin where the parser finds them in the whole text."""
    line = 0
    found = []
    for block in split(text):
        found += [line + start for start in _starts(block)]
        line += block.count("\n")
    assert found == _starts(text)


@given(texts)
def test_one_block_each(text: str) -> None:
    """Every block but the last holds at most one block of the document."""
    assert all(len(_starts(block)) <= 1 for block in split(text)[:-1])


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("One.\n\nTwo.\n\n", ["One.\n\n", "Two.\n\n"]),
        ("# A\ntext\n", ["# A\n", "text\n"]),
        ("Title\n===\ntext", ["Title\n===\n", "text"]),
        ("para\nlazy\n- item\n", ["para\nlazy\n", "- item\n"]),
        ("- a\n\n- b\n\n  more\n\nText", ["- a\n\n- b\n\n  more\n\n", "Text"]),
        ("- a\n  ```\n\n  ```\n- b\nlazy\n\nT", ["- a\n  ```\n\n  ```\n- b\nlazy\n\n", "T"]),
        ("````md\n```\nx\n```\n````\nT", ["````md\n```\nx\n```\n````\n", "T"]),
        ("~~~\n```\n\n~~~\nT", ["~~~\n```\n\n~~~\n", "T"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nT", ["| a | b |\n|---|---|\n| 1 | 2 |\n\n", "T"]),
        ("text\n| a |\n|---|\n| 1 |\n# H\n", ["text\n", "| a |\n|---|\n| 1 |\n", "# H\n"]),
        ("    code\n\n    more\n\nText", ["    code\n\n    more\n\n", "Text"]),
        ("> quote\nlazy\n\n> next\n\n", ["> quote\nlazy\n\n", "> next\n\n"]),
        ("<!-- a\n\nb -->\n\nT", ["<!-- a\n\nb -->\n\nT"]),
        ("<div>\nx\n\nT", ["<div>\nx\n\n", "T"]),
        ("a\n***\nb", ["a\n", "***\n", "b"]),
        ("[a]: https://x.org\n\n[a]", ["[a]: https://x.org\n\n", "[a]"]),
        ("\n\nText\n\n", ["\n\nText\n\n"]),
        ("- a\n* b\n", ["- a\n", "* b\n"]),
        ("1. a\n2) b\n", ["1. a\n", "2) b\n"]),
    ],
)  # fmt: skip
def test_examples(text: str, blocks: list[str]) -> None:
    """Each kind of block ends where it should, as early as it can."""
    assert split(*text) == blocks


def test_a_list_is_finished_by_the_first_letter_behind_it() -> None:
    """The next paragraph need not be whole before the list is printed for good."""
    splitter = Splitter()
    assert splitter.feed("- a\n- b\n\n") == []
    assert splitter.feed("A") == ["- a\n- b\n\n"]
    assert splitter.open == "A"


def test_an_open_fence_is_known() -> None:
    """An open code block tells its info string; its lines can be taken before it ends."""
    splitter = Splitter()
    splitter.feed("Text:\n```python title\nx = 1\n")
    assert splitter.fence is not None
    assert splitter.fence.info == "python title"
    assert splitter.take(len("```python title\nx = 1\n")) == "```python title\nx = 1\n"
    assert splitter.feed("y\n```\nT") == ["y\n```\n"]
    assert splitter.fence is None


def test_fences() -> None:
    """What opens and closes a fenced block, as CommonMark 4.5 has it."""
    fence = opening_fence("  ````js\n")
    assert fence is not None
    assert (fence.indent, fence.info) == (2, "js")
    assert opening_fence("``` a`b") is None
    assert opening_fence("    ```") is None
    assert fence.closed_by("   ````` \n")
    assert not any(map(fence.closed_by, ["```\n", "    ````\n", "~~~~\n", "```` x\n"]))
    assert fence.may_be_closed_by("  ``")
    assert fence.may_be_closed_by("")
    assert not fence.may_be_closed_by("    ")
    assert not fence.may_be_closed_by("``x")


@pytest.mark.parametrize("line", ["code", "- item", "> quote", "| a | b |"])
def test_a_long_block_is_not_parsed_again_and_again(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that can only go on with the open block costs no parse of the block."""
    splitter = Splitter()
    head = {"code": "```\n", "| a | b |": "| a | b |\n|---|---|\n"}.get(line, f"{line}\n")
    splitter.feed(head)

    def refuse() -> list[str]:
        raise AssertionError("parsed again")

    monkeypatch.setattr(splitter, "_parse", refuse)
    for _ in range(100):
        splitter.feed(f"{line}\n")
