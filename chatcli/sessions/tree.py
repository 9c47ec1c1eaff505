"""A session's tree of turns as lines of text; pure."""

from collections.abc import Sequence

from chatcli.core.printable import visible_line
from chatcli.core.session import Turn, TurnId
from chatcli.sessions.titles import clipped

_ID_CHARS = 6
_WORDS_CELLS = 60
_ENDINGS = {
    "interrupted": "interrupted",
    "cancelled": "stopped",
    "length": "cut at the limit",
    "loop": "stopped, it repeated itself",
    "blocked": "blocked",
}


def draw_tree(turns: Sequence[Turn], head: TurnId | None) -> list[str]:
    """Return a line for each turn: mark, branches, the id's beginning, the first words.

    The turns on the path to `head` are marked `*`, and `head` itself `>`. Only where
    there is a choice does a line go to the right, so that a chat without branches is a
    straight list::

        * k3v9qa What is a monad?
        |-   m8r2xw And in Haskell?
        `- * t7c1zd And in Python?
             > b5n0yf Show me the code
    """
    children: dict[TurnId | None, list[Turn]] = {}
    known = {turn.id for turn in turns}
    for turn in turns:
        children.setdefault(turn.parent if turn.parent in known else None, []).append(turn)
    marks = _marks(turns, head)
    lines: list[str] = []
    # A stack, as a chat of a thousand turns is a thousand deep. (turn, its own start, the rest's)
    stack = _branches(children.get(None, []), "")
    while stack:
        turn, start, indent = stack.pop()
        lines.append(f"{start}{marks.get(turn.id, ' ')} {turn_line(turn)}")
        stack += _branches(children.get(turn.id, []), indent)
    return lines


def _branches(turns: Sequence[Turn], indent: str) -> list[tuple[Turn, str, str]]:
    """Return children for the stack, so that the oldest comes off first."""
    if len(turns) == 1:
        return [(turns[0], indent, indent)]
    last = len(turns) - 1
    branches = [
        (turn, indent + ("`- " if i == last else "|- "), indent + ("   " if i == last else "|  "))
        for i, turn in enumerate(turns)
    ]
    return branches[::-1]


def _marks(turns: Sequence[Turn], head: TurnId | None) -> dict[TurnId, str]:
    parents = {turn.id: turn.parent for turn in turns}
    marks: dict[TurnId, str] = {}
    at = head
    while at is not None and at in parents and at not in marks:
        marks[at] = ">" if at == head else "*"
        at = parents[at]
    return marks


def turn_line(turn: Turn) -> str:
    """Return a turn as one safe line: the id's beginning, the question, how it ended."""
    asked = " ".join(message.text or message.content for message in turn.asked)
    words = clipped(visible_line(asked[:500]), _WORDS_CELLS) or "(nothing was asked)"
    ended = ending(turn)
    return f"{visible_line(turn.id[:_ID_CHARS])} {words}" + (f" [{ended}]" if ended else "")


def ending(turn: Turn) -> str:
    """Return how a reply ended, in words; "" if it simply came to its end."""
    return _ENDINGS.get(turn.finish, "")
