"""What the screen and the scrollback show of a Markdown reply while and after it is written."""

import os
import re
import textwrap
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.terminal.streaming import MarkdownPainter, presentable
from tests.terminal.screen import Screen, Size, memory_env, out

WORDS = st.sampled_from(
    [
        "apple",
        "berry",
        "chestnut",
        "x",
        "日本語",
        "漢字",
        "👩‍👩‍👧",
        "é",
        "naïve",
        "(see",
        "1984",
        "...",
    ]
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
INLINE = st.one_of(
    SENTENCES,
    SENTENCES.map("**{}**".format),
    SENTENCES.map("*{}*".format),
    WORDS.map("`{}`".format),
    st.just("[here](https://example.org/a)"),
    st.just("a*b 2**3 _x"),
)
PARAGRAPHS = st.lists(INLINE, min_size=1, max_size=5).map(" ".join)
ITEMS = st.lists(PARAGRAPHS, min_size=1, max_size=6)
BLOCKS = st.one_of(
    PARAGRAPHS,
    PARAGRAPHS.map("# {}".format),
    ITEMS.map(lambda items: "\n".join(f"- {item}" for item in items)),
    ITEMS.map(lambda items: "\n\n".join(f"{i}. {item}" for i, item in enumerate(items, 1))),
    ITEMS.map(lambda items: "- " + "\n  - ".join(items)),
    ITEMS.map(lambda lines: "```python\n" + "\n\n".join(lines) + "\n```"),
    ITEMS.map(lambda lines: "~~~\n" + "\n".join(lines)),
    ITEMS.map(lambda lines: "- ```\n  " + "\n  ".join(lines) + "\n  ```"),
    ITEMS.map(lambda lines: "> " + "\n> ".join(lines)),
    st.lists(st.lists(SENTENCES, min_size=1, max_size=4), min_size=1, max_size=8).map(
        lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows)
    ),
    ITEMS.map(lambda lines: "<div>\n" + "\n".join(lines) + "\n</div>"),
    st.just("---"),
)
TEXTS = st.lists(BLOCKS, min_size=1, max_size=4).map("\n\n".join)


class Reader:
    """A painter and the terminal that it draws on; every refresh is due at once."""

    def __init__(self, columns: int, lines: int) -> None:
        self.screen = Screen(columns, lines)
        self.env = memory_env(tty=True, size=(columns, lines))
        self.painter = MarkdownPainter(self.env, "dark")
        self._read = 0

    def say(self, text: str) -> None:
        """Give the painter a piece and bring the screen up to date."""
        self.painter._next_s = 0.0
        self.painter.text(text)
        self.look()

    def end(self) -> None:
        """End the reply."""
        self.painter.end()
        self.look()

    def look(self) -> None:
        """Draw what was written."""
        text = out(self.env)
        self.screen.feed(text[self._read :])
        self._read = len(text)


def _letters(text: str) -> str:
    """Return the letters and digits of a text, in order: what no renderer may lose."""
    return re.sub(r"[\W_]+", "", text)


@settings(max_examples=15, deadline=None)
@given(TEXTS, st.integers(5, 60), st.integers(20, 90), st.integers(4, 30))
def test_everything_said_stands_in_the_scrollback(
    text: str, cut: int, columns: int, lines: int
) -> None:
    """After the reply, screen and scrollback hold every letter, once and in order."""
    reader = Reader(columns, lines)
    for start in range(0, len(text), cut):
        reader.say(text[start : start + cut])
    reader.end()
    shown = _letters("".join(reader.screen.lines))
    said = _letters(text)
    if "|---|" in text:
        # Cells stand side by side, and a narrow table repeats its header: all is there, mixed.
        assert not Counter(said) - Counter(shown)
    else:
        assert shown == said


@settings(max_examples=15, deadline=None)
@given(TEXTS, st.integers(5, 60), st.integers(20, 90), st.integers(4, 30))
def test_streaming_ends_as_if_it_had_come_at_once(
    text: str, cut: int, columns: int, lines: int
) -> None:
    """The pieces leave no trace: the final lines are those of the whole text in one piece."""
    reader, once = Reader(columns, lines), Reader(columns, lines)
    for start in range(0, len(text), cut):
        reader.say(text[start : start + cut])
    reader.end()
    once.say(text)
    once.end()
    assert reader.screen.lines == once.screen.lines


def test_the_first_characters_are_shown_at_once() -> None:
    """The first piece does not wait for a refresh; later ones come at most 20 times a second."""
    now = 100.0
    env = memory_env(tty=True, size=(40, 10))
    painter = MarkdownPainter(env, "dark", clock=lambda: now)
    painter.text("He")
    assert "He" in out(env)
    writes = len(out(env))
    for piece in ("llo", " there", ", you"):
        now += 0.016
        painter.text(piece)
    assert len(out(env)) == writes
    now += 0.016
    painter.text("!")
    assert "Hello there, you!" in out(env)


def test_a_slow_refresh_leaves_time_for_the_model() -> None:
    """After a refresh of 10 ms the next comes 200 ms later: a twentieth of the time at most."""
    now = 100.0
    env = memory_env(tty=True, size=(40, 10))

    def slow() -> float:
        nonlocal now
        now += 0.005
        return now

    painter = MarkdownPainter(env, "dark", clock=slow)
    painter.text("a")
    now += 0.1
    painter.text(" b")
    before = now
    writes = len(out(env))
    while len(out(env)) == writes:
        painter.text(" c")
    assert 0.1 <= now - before <= 0.15


def test_a_finished_block_is_never_written_again() -> None:
    """What is finished goes out once; a refresh of the open block does not touch it."""
    reader = Reader(40, 10)
    for piece in ("First para", "graph.\n\n", "Second", " one", " grows"):
        reader.say(piece)
    reader.end()
    assert reader.screen.lines == ["First paragraph.", "", "Second one grows"]
    assert out(reader.env).count("First paragraph.") == 1


def test_the_cursor_is_always_visible_again() -> None:
    """Each change is one synchronized write, and within it alone the cursor is hidden."""
    reader = Reader(30, 8)
    for piece in re.findall(r"\S+\s*", "# T\n\n- a\n- b\n\n```\nx\ny\n```\nEnd of **it**."):
        reader.say(piece)
    reader.end()
    text = out(reader.env)
    for begin, end in (("\x1b[?2026h", "\x1b[?2026l"), ("\x1b[?25l", "\x1b[?25h")):
        codes = re.findall(f"{re.escape(begin)}|{re.escape(end)}", text)
        assert codes == [begin, end] * (len(codes) // 2)
    assert reader.screen.screen.cursor.hidden is False
    assert reader.screen.screen.cursor.x == 0


def test_code_lines_go_to_the_scrollback_one_by_one() -> None:
    """A code block taller than the screen is there to scroll through while it is written."""
    reader = Reader(30, 6)
    reader.say("Look:\n\n```python\n")
    for number in range(20):
        reader.say(f"x{number} = {number}\n")
    reader.say("y =")
    numbered = [f"x{number} = {number}" for number in range(20)]
    assert reader.screen.lines == ["Look:", "", "python", *numbered, "y ="]
    reader.say(" 1\n``")
    assert reader.screen.lines[-1] == "y = 1"
    reader.say("`\nDone.")
    reader.end()
    assert reader.screen.lines[-3:] == ["y = 1", "", "Done."]


def test_a_long_code_line_is_one_line() -> None:
    """The terminal breaks a long line of code, so that it is copied as one; tabs stay tabs."""
    reader = Reader(20, 10)
    line = "\tabcdefghij = klmnopqrstuvwxyz"
    reader.say(f"```\n{line}")
    reader.say("\n```\n")
    reader.end()
    assert f"\x1b[36m{line}\x1b[0m\n" in out(reader.env)


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"word{i}" for i in range(300)),
        "\n".join(f"- item {i}" for i in range(60)),
        "\n\n".join(f"{i}. item {i}\n   - nested" for i in range(1, 40)),
    ],
)
def test_a_tall_open_block_sheds_its_top(text: str) -> None:
    """Of a paragraph or a list taller than the screen, the top can be scrolled to at once."""
    reader = Reader(30, 8)
    for start in range(0, len(text), 10):
        reader.say(text[start : start + 10])
    shown = reader.screen.lines
    reader.end()
    assert len(shown) > 40
    assert reader.screen.lines[: len(shown) - 3] == shown[:-3]


def test_a_tall_open_table_shows_its_end_and_then_all_of_it() -> None:
    """An open table taller than the screen shows its last rows; finished, it is all there."""
    reader = Reader(30, 8)
    reader.say("| n | square |\n|---|---|\n")
    for number in range(20):
        reader.say(f"| {number} | {number * number} |\n")
    assert len(reader.screen.lines) == 7
    assert reader.screen.lines[-1].split() == ["19", "361"]
    reader.say("\nEnd")
    reader.end()
    rows = [line.split() for line in reader.screen.lines]
    assert rows[2:22] == [[str(n), str(n * n)] for n in range(20)]
    assert rows[22:] == [[], ["End"]]


@pytest.mark.parametrize("columns", [60, 25])
def test_a_resize_between_refreshes_leaves_no_garbage(columns: int) -> None:
    """The open block is drawn at the new width; what was drawn at the old one is gone."""
    reader = Reader(40, 12)
    reader.say("A finished line.\n\n")
    reader.say("The open block takes more than one row at forty columns, so it")
    size = reader.env.size
    assert isinstance(size, Size)
    size.now = os.terminal_size((columns, 12))
    # pyte does not break long rows again as terminals do: draw what they would show.
    reader.screen = Screen(columns, 12)
    reader.screen.feed("A finished line.\n\nThe open block takes more than one row\n")
    reader.screen.feed("at forty columns, so it")
    reader.say(" is drawn again.")
    reader.end()
    words = "The open block takes more than one row at forty columns, so it is drawn again."
    assert reader.screen.lines == ["A finished line.", "", *textwrap.wrap(words, columns)]


def test_marks_are_not_seen_before_they_mean_something() -> None:
    """A line of nothing but marks waits; an open emphasis or code span is shown as one."""
    assert presentable("Text\n-") == "Text\n"
    assert presentable("Text\n```") == "Text\n"
    assert presentable("- item\n- ") == "- item\n"
    assert presentable("a **bold wo") == "a **bold wo**"
    assert presentable("a **bold*") == "a **bold**"
    assert presentable("a **bold**") == "a **bold**"
    assert presentable("a `co") == "a `co`"
    assert presentable("a **") == "a "
    assert presentable("2**3 is") == "2**3 is"


def test_blocks_into_a_pipe_with_colour_on_demand() -> None:
    """Where nothing can be redrawn, blocks come when they are finished, without cursor codes."""
    env = memory_env(tty=False, color=True, size=(40, 24))
    painter = MarkdownPainter(env, "dark")
    for piece in ("# Ti", "tle\n", "Some *words*", " here\n\n```\n", "x = 1\ny", " = 2\n"):
        painter._next_s = 0.0
        painter.text(piece)
    painter.end()
    assert re.sub(r"\x1b\[[\d;]*m", "", out(env)) == "Title\n\nSome words here\n\nx = 1\ny = 2\n"
    assert set(re.findall(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", out(env))) == {
        "\x1b[0m", "\x1b[1;4;96m", "\x1b[3m", "\x1b[36m",
    }  # fmt: skip
