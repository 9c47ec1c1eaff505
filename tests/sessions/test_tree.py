"""The tree shows each turn once, and the way to the head."""

from hypothesis import given
from hypothesis import strategies as st

from chatcli.core.session import Turn
from chatcli.sessions.tree import draw_tree
from tests.sessions.made import turn


def _named(name: str, parent: Turn | None, asked: str = "") -> Turn:
    return turn(asked or name, name=name, parent=parent.id if parent else None)


def test_a_tree_with_branches() -> None:
    """Straight as long as there is no choice; the head's path is marked."""
    root = _named("root00", None, "What is a monad?")
    left = _named("left00", root, "And in Haskell?")
    deep = _named("deep00", left)
    right = _named("right0", root, "And in\nPython?\x1b")
    last = _named("last00", right)
    assert draw_tree([root, left, right, deep, last], last.id) == [
        "* root00 What is a monad?",
        "|-   left00 And in Haskell?",
        "|    deep00 deep00",
        "`- * right0 And in Python?\u241b",
        "   > last00 last00",
    ]


def test_several_first_turns_are_branches() -> None:
    """The first question may be edited, too; without a head nothing is marked."""
    one, two = _named("one000", None), _named("two000", None)
    assert draw_tree([one, two], None) == ["|-   one000 one000", "`-   two000 two000"]
    assert draw_tree([], None) == []


def test_how_a_reply_ended_is_told() -> None:
    """In brackets, behind the words."""
    (line,) = draw_tree([turn("why", name="abcdef", finish="interrupted")], None)
    assert line == "  abcdef why [interrupted]"


def test_a_thousand_turns_deep() -> None:
    """No recursion limit, and no indentation without a choice."""
    turns = [_named("t0", None)]
    for n in range(1, 3000):
        turns.append(_named(f"t{n}", turns[-1]))
    lines = draw_tree(turns, turns[-1].id)
    assert len(lines) == 3000
    assert lines[-1] == "> t2999 t2999"


@given(st.lists(st.integers(0, 30), max_size=30), st.data())
def test_every_turn_has_its_line(parents: list[int], data: st.DataObject) -> None:
    """Whatever the tree: each turn once, and one `>`."""
    turns: list[Turn] = []
    for n, at in enumerate(parents):
        turns.append(_named(f"n{n:05}", turns[at % n] if n and at % 3 else None))
    head = data.draw(st.sampled_from(turns)).id if turns else None
    lines = draw_tree(turns, head)
    assert (
        sorted(turn.id for turn in turns)
        == sorted(word for line in lines for word in line.split() if word.startswith("n0"))[::2]
    )
    assert sum("> " in line for line in lines) == (1 if turns else 0)
