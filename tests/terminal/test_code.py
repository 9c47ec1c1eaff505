"""Code lines are drawn one by one, as they come."""

from chatcli.terminal.blocks import Fence
from chatcli.terminal.code import CodeStream
from chatcli.terminal.markdown import Ink

INK = Ink(20)


def test_lines_come_out_as_they_go_in() -> None:
    """Pieces cut at line ends give the label and the code; blank lines and tabs stay."""
    stream = CodeStream(Fence(0, "```", "python"), INK)
    shown = [line.plain for line in stream.lines("\n```python\n\n")]
    assert shown == ["python", ""]
    assert [line.plain for line in stream.lines("if x:\n\ty\n\n")] == ["if x:", "\ty", ""]
    assert [line.plain for line in stream.lines("z\n```\n")] == ["z"]


def test_colour_knows_what_came_before() -> None:
    """A line inside an open string is coloured as one, though it comes alone."""
    stream = CodeStream(Fence(0, "```", "python"), INK)
    stream.lines('```python\ntext = """\n')
    (inside,) = stream.lines("for\n")
    (outside,) = CodeStream(Fence(0, "```", "python"), INK).lines("```python\nfor\n")[1:]
    assert inside.spans != outside.spans


def test_a_partial_line() -> None:
    """The start of a line is cut to the width; what may be the closing fence waits."""
    stream = CodeStream(Fence(2, "```", ""), INK)
    stream.lines("  ```\n")
    assert [line.plain for line in stream.partial("  " + "x" * 25)] == ["x" * 20, "x" * 5]
    assert stream.partial("``") == stream.partial("") == []
    assert [line.plain for line in stream.lines("    x\n")] == ["  x"]
    stream.resized(Ink(4))
    assert [line.plain for line in stream.partial("abcdef")] == ["abcd", "ef"]
