"""The usage line."""

from chatcli.core.usage import Usage
from chatcli.terminal.usage import usage_line
from tests.terminal.screen import made_turn


def test_all_figures() -> None:
    """Every figure that is known is in the line."""
    usage = Usage(
        reused_memory=1200,
        evaluated=34,
        completion=50,
        decode_s=0.5,
        ttft_s=0.214,
        context=8192,
    )
    assert usage_line(made_turn(usage=usage), "smollm2:135m") == (
        "smollm2:135m | prompt 34 new + 1,200 reused | reply 50 | 100.0 tokens/s"
        " | first token 0.21 s | context 1,284/8,192"
    )


def test_unknown_figures_are_left_out() -> None:
    """What is zero because it was not measured is not shown; why it ended is."""
    usage = Usage(evaluated=3, reused_disk=7, completion=1)
    line = usage_line(made_turn(usage=usage, finish="length"), "a\x1bb")
    assert line == (
        "a␛b | prompt 3 new + 0 reused + 7 from disk | reply 1 | context 11 | cut by the limit"
    )
