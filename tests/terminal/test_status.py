"""The status line and the tables of /context and /stats."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.core.decision import Route
from chatcli.core.message import Message, user
from chatcli.core.ports import Measure
from chatcli.core.session import Turn, TurnId
from chatcli.core.usage import Usage
from chatcli.sessions.titles import cells
from chatcli.terminal.stats import bar, context_text, percent, stats_text, total
from chatcli.terminal.status import Status, status_line

USAGE = Usage(
    reused_memory=1000,
    reused_disk=100,
    evaluated=34,
    completion=90,
    decode_s=2.0,
    prefill_s=0.5,
    ttft_s=0.6,
)
TURN = Turn(
    id=TurnId("t"),
    parent=None,
    asked=(user("q"),),
    reply=Message("assistant", ()),
    route=Route(model="m", rule="chosen"),
    finish="stop",
    started_at=0.0,
    usage=USAGE,
)
FULL = Status("smollm2:135m", measure=Measure(1224, 8192), turn=TURN, title="Apples")


def test_it_tells_all_that_was_promised() -> None:
    """Model, context use, speed, reused and evaluated tokens, title."""
    assert status_line(FULL, 120) == (
        "smollm2:135m · 1,224/8,192 tokens (15%) · 45.0 tokens/s · 34 new + 1,100 reused · Apples"
    )


def test_it_tells_what_is_under_way() -> None:
    """Loading, an edit, attached files."""
    assert status_line(Status("m", state="loading"), 80) == "m (loading)"
    line = status_line(Status("m", editing=True, waiting=2), 80)
    assert line == "m · editing: Ctrl-C cancels · 2 files attached"


@given(width=st.integers(0, 130), title=st.text(max_size=60))
def test_it_never_exceeds_the_width(width: int, title: str) -> None:
    """Wide characters count twice; nothing in it can move the cursor."""
    line = status_line(replace(FULL, title=title), width)
    assert cells(line) <= width
    assert not any(ord(char) < 32 or ord(char) == 127 for char in line)


@pytest.mark.parametrize(
    ("used", "limit", "shown"),
    [(0, 10, "0%"), (1, 1000, "<1%"), (5, 10, "50%"), (12, 10, "120%"), (1, 0, "0%")],
)
def test_percent(used: int, limit: int, shown: str) -> None:
    """A little is not nothing, and no limit is no error."""
    assert percent(used, limit) == shown


def test_a_bar_is_never_longer_than_its_width() -> None:
    """Also over the limit; a little shows as one cell."""
    assert bar(1, 1000, 10) == "#........."
    assert bar(20, 10, 10) == "##########"
    assert bar(0, 0, 10) == ".........."


def test_a_turn_without_a_record_is_shown_as_unknown() -> None:
    """Its model was another one; the numbering counts the turns left out."""
    text = context_text([TURN], 2, Measure(10, 100))
    assert "2 older turns were left out" in text
    assert text.splitlines()[-1].split() == ["3", "?", "?", "q"]


def test_stats_adds_up() -> None:
    """reused + evaluated = prompt, for the chat as for the turn."""
    both = total([USAGE, USAGE])
    assert both.prompt == 2 * USAGE.prompt
    text = stats_text([USAGE, USAGE])
    assert "45.0" in text
    assert "68.0" in text
