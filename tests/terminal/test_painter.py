"""The loop over events: what goes where, and when."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.core.event import Event
from chatcli.core.printable import visible
from chatcli.terminal.painter import Margin, SafeText, paint
from chatcli.terminal.plain import PlainPainter
from chatcli.terminal.theme import Look
from tests.terminal.screen import err, memory_env, turn_of


@given(st.lists(st.sampled_from(["a", "\r", "\n", "\x1b[0m", "\r\n", "\u202e", "\t"])))
def test_cuts_do_not_change_what_is_made_visible(pieces: list[str]) -> None:
    """Piece by piece gives what the whole text gives."""
    safe = SafeText()
    shown = "".join(safe.feed(piece) for piece in pieces) + safe.flush()
    assert shown == visible("".join(pieces))


def test_events_without_an_end_are_a_bug() -> None:
    """A turn that ends without Finished is our mistake, and is not passed over."""

    def events() -> Iterator[Event]:
        yield from list(turn_of(["x"]))[:-1]

    env = memory_env(tty=False)
    with pytest.raises(RuntimeError, match="without Finished"):
        paint(events(), PlainPainter(env), env, Look())


def test_a_passing_line_is_cut_to_the_width_and_replaced() -> None:
    """A passing remark never wraps, is written only when it changes, and leaves nothing."""
    env = memory_env(tty=True, color=False, size=(10, 24))
    margin = Margin(env, Look())
    for text in ("0123456789abc", "0123456789abc", "x"):
        margin.passing(text)
    margin.note("stays")
    margin.erase()
    assert err(env) == "\r\x1b[K012345678\r\x1b[Kx\r\x1b[Kstays\n"
