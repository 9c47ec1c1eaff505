"""Breaks styled text into lines of at most so many terminal columns.

Widths are rich's (Unicode tables, grapheme clusters): wide characters are two columns,
combining marks none, a ZWJ sequence is one picture. Chinese, Japanese and Korean text breaks
between characters, but not before closing punctuation.
"""

import re
from collections.abc import Iterable, Iterator

from rich.cells import cell_len, split_graphemes
from rich.text import Text

TAB = 8
_WIDE = (
    "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f"
    "\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)
_CLOSING = "、。，．！？：；」』）】》〉〕］｝…ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ,.!?:;)\\]}"  # noqa: RUF001  these are the signs meant
_OPENING = "「『（【《〈〔［｛"  # noqa: RUF001  these are the signs meant
_MARKS = "\u0300-\u036f\u3099\u309a\ufe00-\ufe0f\u200d"
# What stays together: a wide character with what belongs to it, or a run of others.
_UNIT = re.compile(
    rf"[{_OPENING}]*[{_WIDE}][{_MARKS}]*(?:[{_CLOSING}][{_MARKS}]*)*|[^\s{_WIDE}]+|[^\S\n]+"
)


def wrap(text: Text, width: int) -> list[Text]:
    """Return the lines of `text`, broken at spaces and line feeds; at least one line.

    Spaces at a break are dropped; a word longer than the line is cut where the line ends.
    """
    text.expand_tabs(TAB)
    lines: list[Text] = []
    for part in text.split("\n", allow_blank=True) or [Text()]:
        if part.cell_len <= width:
            part.rstrip()
            lines.append(part)
            continue
        for line in part.divide(_breaks(part.plain, max(2, width))):
            # Spaces are dropped at breaks, not where the author began a line with them.
            line.rstrip()
            lines.append(line)
    return lines


def chop(text: Text, width: int) -> list[Text]:
    """Return `text`, one line of code, cut every `width` columns; nothing is dropped."""
    text.expand_tabs(TAB)
    if text.cell_len <= width:
        return [text]
    return list(text.divide(_cuts(text.plain, 0, max(2, width), 0)))


def longest_unit(text: Text) -> int:
    """Return the columns of the longest part of `text` that should not be broken."""
    return max((cell_len(match[0]) for match in _UNIT.finditer(text.plain)), default=0)


def _breaks(text: str, width: int) -> Iterable[int]:
    """Yield where lines begin, the first left out."""
    column = 0
    for match in _UNIT.finditer(text):
        cells = cell_len(match[0])
        if match[0].isspace() or column + cells <= width:
            column += cells  # spaces may stand over the edge: they are dropped there
            continue
        if column:
            yield match.start()
        column = cells
        if cells > width:
            cuts = list(_cuts(match[0], match.start(), width, 0))
            yield from cuts
            column = cell_len(text[cuts[-1] : match.end()])


def _cuts(text: str, offset: int, width: int, column: int) -> Iterator[int]:
    for start, _end, cells in split_graphemes(text)[0]:
        if column and column + cells > width:
            yield offset + start
            column = 0
        column += cells
