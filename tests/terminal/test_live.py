"""Rows that are redrawn below rows that stay."""

import dataclasses
import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.terminal.live import Live, Row
from tests.terminal.screen import Screen, memory_env, out

ROWS = st.lists(st.sampled_from(["", "a", "bb", "ccc"]), max_size=4)


def rows(*texts: str) -> list[Row]:
    """Return plain rows."""
    return [Row(text, len(text)) for text in texts]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(ROWS, ROWS), max_size=8))
def test_the_screen_is_what_was_asked_for(steps: list[tuple[list[str], list[str]]]) -> None:
    """After any updates: all committed rows, then the open ones, the cursor at their end."""
    env = memory_env(tty=True, size=(10, 8))
    live = Live(env)
    committed: list[str] = []
    for stay, stays_open in steps:
        live.update(rows(*stay), rows(*stays_open))
        committed += stay
        screen = Screen(10, 8)
        screen.feed(out(env))
        wanted = [*committed, *stays_open]
        lines = screen.lines
        assert lines + [""] * (len(wanted) - len(lines)) == wanted
        assert screen.screen.cursor.x == (len(stays_open[-1]) if stays_open else 0)
        assert live.idle is not bool(stays_open)


def test_the_cursor_stands_at_the_end_of_the_last_open_row() -> None:
    """Also where the open rows became fewer: remarks and echoes must not land inside them."""
    env = memory_env(tty=True, size=(10, 8))
    live = Live(env)
    live.update([], rows("one", "two", "three"))
    live.update([], rows("one", "two"))
    screen = Screen(10, 8)
    screen.feed(out(env))
    assert screen.lines == ["one", "two"]
    assert (screen.screen.cursor.y, screen.screen.cursor.x) == (1, 3)


def test_what_stays_the_same_is_not_written_again() -> None:
    """Rows that were open and are committed as they stand cost nothing but a line feed."""
    env = memory_env(tty=True, size=(10, 8))
    live = Live(env)
    live.update([], rows("one", "two"))
    before = len(out(env))
    live.update([], rows("one", "two"))
    assert len(out(env)) == before
    live.update(rows("one", "two"), [])
    assert out(env)[before:] == "\n"


def test_only_the_last_rows_are_open() -> None:
    """More open rows than the screen has show their end; committed, all are shown."""
    env = memory_env(tty=True, size=(10, 4))
    live = Live(env)
    numbers = rows(*map(str, range(6)))
    live.update([], numbers)
    screen = Screen(10, 4)
    screen.feed(out(env))
    assert screen.lines == ["3", "4", "5"]
    live.update(numbers, [])
    screen = Screen(10, 4)
    screen.feed(out(env))
    assert screen.lines == ["0", "1", "2", "3", "4", "5"]


def test_a_row_of_doubtful_width_cannot_disturb_others() -> None:
    """A row that the terminal draws wider than measured is clipped while it is open."""
    env = memory_env(tty=True, size=(10, 6))
    live = Live(env)
    doubtful = Row("x" * 14, 8, sure=False)
    live.update([], [doubtful, *rows("end")])
    live.update([], [doubtful, *rows("end", "more")])
    screen = Screen(10, 6)
    screen.feed(out(env))
    assert screen.lines == ["x" * 10, "end", "more"]
    live.update([doubtful, *rows("end", "more")], [])
    screen = Screen(10, 6)
    screen.feed(out(env))
    assert screen.lines == ["x" * 10, "xxxx", "end", "more"]


def test_without_a_cursor_only_what_stays_is_written() -> None:
    """Into a pipe go committed rows alone, and no codes."""
    env = dataclasses.replace(memory_env(tty=True), cursor=False)
    live = Live(env)
    for stay, stays_open in itertools.product([[], rows("a")], [[], rows("b")]):
        live.update(stay, stays_open)
    assert out(env) == "a\na\n"
