"""An open block that outgrows the screen: how much of its top can be printed for good."""

from itertools import pairwise

from chatcli.terminal.blocks import Kind, lines_of, parser
from chatcli.terminal.markdown import Ink, render

_KEEP = 3
"""Lines that stay open at least: the newest may still change."""
_TRIES = 3
_MARKS = frozenset("*_`[<~\\")


def shed(source: str, kind: Kind | None, ink: Ink, room: int) -> int:
    """Return how many characters of `source` can be drawn apart from the rest; 0 if none.

    Drawn apart means: the drawing of the top and that of the rest, one below the other, are
    the drawing of the whole. What is left should be less than half of `room` lines.
    """
    if kind == "list":
        return _whole_items(source, ink, room)
    return _whole_lines(source, ink, room) if kind in {"paragraph", None} else 0


def _plain(source: str, ink: Ink) -> list[str]:
    return [line.plain for line in render(source, ink)]


def _whole_items(source: str, ink: Ink, room: int) -> int:
    """Cut before an item of the outermost list."""
    tokens = parser().parse(source)
    starts = [t.map[0] for t in tokens if t.type == "list_item_open" and t.level == 1 and t.map]
    lines = lines_of(source)
    offsets = [sum(map(len, lines[:start])) for start in starts[1:]]
    for offset in offsets:
        if len(_plain(source[offset:], ink)) <= room // 2:
            return offset
    return offsets[-1] if offsets else 0


def _whole_lines(source: str, ink: Ink, room: int) -> int:
    """Cut a paragraph before a word that begins a drawn line and cannot begin a block."""
    whole = _plain(source, ink)
    places = [i + 1 for i, (a, b) in enumerate(pairwise(source)) if a in " \n" and b.isalpha()]
    target = min(len(whole) - _KEEP, len(whole) - room // 2)
    for wanted in range(target, 0, -max(1, target // _TRIES)):
        place = _last_within(source, places, wanted, ink)
        top = _plain(source[:place], ink)
        # A mark that is shown is not paired yet: its partner may be still to come.
        open_marks = _MARKS & set("".join(top))
        if place and not open_marks and top + _plain(source[place:], ink) == whole:
            return place
    return 0


def _last_within(source: str, places: list[int], n_lines: int, ink: Ink) -> int:
    """Return the last of `places` up to which the source takes no more than `n_lines` lines."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        if len(_plain(source[: places[middle]], ink)) <= n_lines:
            low = middle + 1
        else:
            high = middle
    return places[low - 1] if low else 0
