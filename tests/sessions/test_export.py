"""Exported files are complete (JSON), readable (Markdown, HTML) and safe (all three)."""

import json
import re
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.core.message import Document, user
from chatcli.core.session import Session, Turn
from chatcli.sessions import codec
from chatcli.sessions.export import as_json, as_markdown
from chatcli.sessions.export_html import as_html
from tests.sessions.made import session, turn, turns

NASTY = "<script>alert(1)</script> & \x1b[31m \x9b \u202e\u2028"


def _nasty() -> tuple[Session, list[Turn]]:
    asked = user(f"{NASTY}\n```\n<b>\n```\nafter", Document("a<b>.txt", "x\n````\ny"))
    broken = replace(turn(NASTY, NASTY, finish="interrupted"), asked=(asked,))
    return replace(session(title=NASTY), system=NASTY), [broken]


@pytest.mark.parametrize("export", [as_json, as_markdown, as_html])
def test_an_export_may_be_printed(export: object) -> None:
    """No control character is left in it but line feeds."""
    made, path = _nasty()
    text: str = export(made, path)  # type: ignore[operator]
    controls = {c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")}
    assert controls <= {"\n"}
    assert "\u202e" not in text


@settings(max_examples=50)
@given(whole=turns)
def test_json_is_complete(whole: Turn) -> None:
    """Every value comes back from it."""
    made = session(title="t")
    row = json.loads(as_json(made, [whole, turn()]))["sessions"][0]
    assert codec.session_from(row, "s") == made
    assert codec.turn_from(row["turns"][0], "t") == whole
    assert len(row["turns"]) == 2


def test_json_without_turns_is_json() -> None:
    """An empty session, too."""
    assert json.loads(as_json(session(), []))["sessions"][0]["turns"] == []


def test_markdown_reads_as_the_chat() -> None:
    """Title, questions, replies; how a reply ended is told apart from the text."""
    first = turn("What?", "**That.**")
    text = as_markdown(replace(session(title="T"), system="Be brief."), [first, _nasty()[1][0]])
    assert text.startswith("# T\n\n*")
    assert "## System\n\nBe brief." in text
    assert "## You\n\nWhat?\n\n## Reply\n\n**That.**\n\n*made \u00b7 3 + 2 tokens*" in text
    assert "`````\nx\n````\ny\n`````" in text
    assert text.endswith("\u00b7 interrupted*\n")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_escaped_and_needs_nothing_else() -> None:
    """No script, nothing loaded from elsewhere, dark and light; code in a box of its own."""
    page = as_html(*_nasty())
    tags = _Tags()
    tags.feed(page)
    assert not {"script", "b", "img", "link"} & set(tags.tags)
    assert "<script>alert(1)</script>" in tags.text
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"https?://|@import|url\(", page)
    assert "<pre>&lt;b&gt;\n</pre>" in page
    assert "interrupted" in page


@given(st.text(alphabet="`~\n ab<", max_size=60))
def test_html_keeps_all_text_but_the_fences(text: str) -> None:
    """Whatever the fences."""
    tags = _Tags()
    tags.feed(as_html(session(title="t"), [turn("q", text)]))
    shown = tags.text.split("Reply", 1)[1].replace("\n", "")
    for letter in "ab<":
        assert shown.split("made")[0].count(letter) <= text.count(letter)
