"""JSON text, and values out of it that are checked: what is wrong is named by its place."""

import json
import math
from collections.abc import Mapping
from typing import TypeVar

_T = TypeVar("_T")
_Literal = TypeVar("_Literal", bound=str)


class Malformed(ValueError):
    """A value is not what it should be; the message names its place."""


def dumps(value: object) -> str:
    """Return compact JSON that can be stored as UTF-8, whatever the strings in it hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, from an undecodable argument
        return json.dumps(value, separators=(",", ":"))
    return text


def loads(text: str) -> object:
    """Parse JSON.

    Raises:
        Malformed: it is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error


# -- checked reading -------------------------------------------------------------------


def want(value: object, kind: type[_T], where: str) -> _T:
    """Return `value` if it is a `kind` (a whole number counts as a float, too)."""
    if kind is float and type(value) is int and _fits(value):
        value = float(value)
    # The type itself: a bool is no int here.
    if isinstance(value, kind) and type(value) is kind and (kind in _TEXTUAL or _fits(value)):
        return value
    raise Malformed(f"{where} is not {_KIND_NAMES[kind]}")


_TEXTUAL = frozenset({str, list, dict, bool})
_KIND_NAMES: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}


def _fits(value: object) -> bool:
    """Say whether a number can be stored: SQLite has 64 bits, and no NaN."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and abs(value) < 2**63


def field(row: Mapping[str, object], name: str, kind: type[_T], where: str) -> _T:
    """Return `row[name]`, checked."""
    value = row.get(name)
    # The common case first: a chat of a hundred turns has thousands of fields.
    if isinstance(value, kind) and kind in _TEXTUAL:
        return value
    if name not in row:
        raise Malformed(f"{where} has no {name!r}")
    return want(value, kind, f"{where}.{name}")


def one_of(value: str, allowed: tuple[_Literal, ...], where: str) -> _Literal:
    """Return `value` if it is one of the words that are `allowed`."""
    for known in allowed:
        if value == known:
            return known
    raise Malformed(f"{where} is {value!r}, not one of {', '.join(allowed)}")
