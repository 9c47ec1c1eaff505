"""What is made of a finished turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.cli.answer import CODES, Block, as_json, code_blocks, extracted
from chatcli.core.decision import Route
from chatcli.core.errors import ChatcliError, CutOff
from chatcli.core.message import assistant, user
from chatcli.core.session import FinishReason, Session, SessionId, Turn, TurnId
from chatcli.core.usage import Usage


def _turn(text: str, finish: FinishReason = "stop") -> Turn:
    return Turn(
        id=TurnId("t"),
        parent=None,
        asked=(user("q"),),
        reply=assistant(text, "thought"),
        route=Route(model="m", rule="chosen"),
        finish=finish,
        started_at=0.0,
        usage=Usage(reused_memory=1, reused_disk=2, evaluated=3, completion=4, prefill_s=0.123456),
    )


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("none", []),
        ("```\na\n```", [("a", True)]),
        ("say\n```python title=x\na\n\nb\n```\nmore\n~~~\nc\n~~~", [("a\n\nb", True), ("c", True)]),
        ("````md\n```\na\n```\n````", [("```\na\n```", True)]),
        ("```\na\n~~~\n```", [("a\n~~~", True)]),
        ("```\na\n```` ", [("a", True)]),
        ("```\na\n``", [("a\n``", False)]),
        ("```\n", [("", False)]),
        ("``` a`b\nno", []),
        ("`` `\nno", []),
        ("   ```\n   a\n     b\n   ```", [("a\n  b", True)]),
        ("- first\n\n  ```sh\n  ls\n  ```", [("ls", True)]),
        ("1. ```sh\n   ls\n   ```", [("ls", True)]),
        ("```\r\na\r\n```\r\n", [("a", True)]),
    ],
)
def test_code_blocks_follow_commonmark(text: str, blocks: list[tuple[str, bool]]) -> None:
    """Info strings, longer fences around shorter ones, tildes, lists, open ends."""
    assert code_blocks(text) == [Block(*block) for block in blocks]


_CODE = st.text(st.characters(categories=["L", "N", "P", "Zs"], include_characters="\n`"))


@given(_CODE)
def test_whatever_is_fenced_comes_back(code: str) -> None:
    """A fence longer than any run of backticks inside holds anything."""
    longest = max((len(run) for run in code.replace("`", "` ").split() if "`" in run), default=0)
    fence = "`" * max(3, longest + 3, code.count("`") + 1)
    assert code_blocks(f"text\n{fence}py\n{code}\n{fence}\n") == [Block(code, closed=True)]


def test_the_first_or_the_last_block_is_taken_out() -> None:
    """Without its fences."""
    turn = _turn("```\na\n```\n```\nb\n```")
    assert (extracted(turn, "first"), extracted(turn, "last")) == ("a", "b")
    assert extracted(_turn("```\nopen"), "first") == "open"
    with pytest.raises(ChatcliError, match="no code block"):
        extracted(_turn("words"), "first")


def test_of_a_reply_that_was_cut_only_a_whole_first_block_is_taken() -> None:
    """An open block, and the last one of who knows how many, are worth nothing."""
    cut = _turn("```\na\n```\n```\nb", "length")
    assert extracted(cut, "first") == "a"
    for turn, which in (
        (cut, "last"),
        (_turn("```\na", "loop"), "first"),
        (_turn("", "length"), "first"),
    ):
        with pytest.raises(CutOff):
            extracted(turn, which)  # type: ignore[arg-type]  # two literals in a tuple


def test_json_names_everything_in_the_terms_of_the_core() -> None:
    """Usage has its own names and adds up; without a kept session there are no ids."""
    session = Session(id=SessionId("s"), kind="ask", model="m", clock=0.0)
    found = as_json(_turn("hi"), session, kept=True)
    assert found == {
        "answer": "hi",
        "reasoning": "thought",
        "session": "s",
        "turn": "t",
        "model": "m",
        "route": {"model": "m", "rule": "chosen", "score": 0.0},
        "finish": "stop",
        "usage": {
            "prompt": 6,
            "reused_memory": 1,
            "reused_disk": 2,
            "evaluated": 3,
            "completion": 4,
            "context": 0,
            "prefill_s": 0.1235,
            "decode_s": 0.0,
            "ttft_s": 0.0,
            "read_bytes": 0,
            "written_bytes": 0,
        },
    }
    hidden = as_json(_turn("hi"), session, kept=False)
    assert (hidden["session"], hidden["turn"]) == (None, None)


def test_every_way_to_end_has_its_exit_code() -> None:
    """4 for a limit, 3 for safety, 130 for Ctrl-C."""
    assert CODES == {
        "stop": 0,
        "tool_calls": 0,
        "length": 4,
        "loop": 4,
        "blocked": 3,
        "cancelled": 130,
        "interrupted": 1,
    }
