"""`Frozen` behaves as a frozen dataclass does."""

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass, replace

import pytest

from chatcli.core.frozen import Frozen


class Point(Frozen):
    """Two fields, one with a default, and one made anew."""

    x: int
    y: int = 2
    tags: tuple[str, ...] = field(default_factory=tuple)


class Other(Frozen):
    """The same fields under another name."""

    x: int
    y: int = 2
    tags: tuple[str, ...] = ()


def test_fields_are_filled_in_their_order() -> None:
    """Given values, defaults and factories fill the fields; the repr shows them in order."""
    assert repr(Point(x=1)) == "Point(x=1, y=2, tags=())"
    assert [entry.name for entry in fields(Point)] == ["x", "y", "tags"]


def test_equal_content_is_equal() -> None:
    """Values compare and hash by class and content."""
    assert Point(x=1) == Point(x=1, y=2)
    assert Point(x=1) != Point(x=2)
    assert len({Point(x=1), Point(y=2, x=1)}) == 1
    assert Point(x=1) != Other(x=1)


def test_nothing_can_be_changed() -> None:
    """Assigning and deleting are refused."""
    point = Point(x=1)
    with pytest.raises(FrozenInstanceError):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert point.x == 1


def test_missing_and_unknown_fields_are_errors() -> None:
    """The constructor names what is missing, and what it does not know."""
    with pytest.raises(TypeError, match="needs the field x"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="has no field z"):
        Point(x=1, z=1)  # type: ignore[call-arg]


def test_the_dataclass_functions_work() -> None:
    """`replace`, `asdict`, `is_dataclass`, copy and pickle treat it as a dataclass."""
    point = Point(x=1, tags=("a",))
    assert replace(point, y=5) == Point(x=1, y=5, tags=("a",))
    assert asdict(point) == {"x": 1, "y": 2, "tags": ("a",)}
    assert is_dataclass(Point)
    assert copy.deepcopy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point
