"""Lays a table out in columns that fit a width, or as a list of records where they cannot."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from chatcli.terminal.wrap import longest_unit, wrap

_GAP = 2
_LEAST = 3


def layout(rows: list[list[Text]], aligns: Sequence[str], width: int, rule: Style) -> list[Text]:
    """Return the lines of a table whose first row is the header.

    `aligns` holds "left", "center", "right" or "" for each column. Cells are wrapped; where
    even the longest words do not fit beside each other, each row becomes a record of
    "header: cell" lines.
    """
    n = max(len(row) for row in rows)
    rows = [row + [Text() for _ in range(n - len(row))] for row in rows]
    columns = list(zip(*rows, strict=True))
    natural = [max(_LEAST, *(_natural(cell) for cell in column)) for column in columns]
    least = [max(_LEAST, *(longest_unit(cell) for cell in column)) for column in columns]
    room = width - _GAP * (n - 1)
    if sum(least) > room:
        return _records(rows, width)
    widths = _fit(natural, least, room)
    aligns = [*aligns, *[""] * (n - len(aligns))]
    wrapped = [[wrap(c, w) for c, w in zip(row, widths, strict=True)] for row in rows]
    # Where a cell takes several lines, blank lines keep the rows apart.
    spaced = any(len(cell) > 1 for row in wrapped[1:] for cell in row)
    lines: list[Text] = []
    for index, row in enumerate(wrapped):
        if spaced and index > 1:
            lines.append(Text())
        lines += _row(row, widths, aligns)
        if index == 0:
            lines.append(Text((" " * _GAP).join("─" * w for w in widths), rule))
    return lines


def _natural(cell: Text) -> int:
    return max(cell_len(line) for line in cell.plain.split("\n"))


def _fit(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Give each column its natural width if all fit, else its least and a share of the rest."""
    if sum(natural) <= room:
        return list(natural)
    widths = list(least)
    spare = room - sum(widths)
    wish = [a - b for a, b in zip(natural, least, strict=True)]
    total = sum(wish)
    return [w + spare * more // total for w, more in zip(widths, wish, strict=True)]


def _row(cells: Sequence[list[Text]], widths: Sequence[int], aligns: Sequence[str]) -> list[Text]:
    lines = []
    for index in range(max(len(cell) for cell in cells)):
        line = Text()
        column = 0
        for cell, width, align in zip(cells, widths, aligns, strict=True):
            part = cell[index] if index < len(cell) else Text()
            space = width - part.cell_len
            before = {"right": space, "center": space // 2}.get(align, 0)
            line.append(" " * (column + before - line.cell_len))
            line.append_text(part)
            column += width + _GAP
        line.rstrip()
        lines.append(line)
    return lines


def _records(rows: list[list[Text]], width: int) -> list[Text]:
    """Return each row as lines "header: cell", with a blank line between rows."""
    header, *body = rows
    if not body:
        return [line for cell in header for line in wrap(cell, width)]
    lines: list[Text] = []
    for row in body:
        if lines:
            lines.append(Text())
        for name, cell in zip(header, row, strict=True):
            if cell.plain or name.plain:
                lines += wrap((name.copy().append(": ") if name.plain else Text()) + cell, width)
    return lines
