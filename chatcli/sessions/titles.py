"""A title from what was asked first; pure."""

import re
import unicodedata

_MAX_CELLS = 60
_ELLIPSIS = "\u2026"
# Marks at the start of a line (heading, quote, list, fence) and around words.
_LEADING = re.compile(r"^(?:#{1,6}\s+|>\s*|[-*+]\s+|\d{1,3}[.)]\s+|`{3,}\w*|~{3,}\w*)+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"\*{1,3}|`+|~~|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_REORDER = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
_SENTENCE = re.compile(r"(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f])")


def title_from(text: str) -> str:
    """Return the first sentence of the first line that says something, at most 60 cells wide.

    Markdown marks and control characters are taken out; "" if nothing is left.
    """
    for line in text.splitlines():
        if plain := _plain(line):
            return _fitted(_SENTENCE.split(plain, maxsplit=1)[0].strip())
    return ""


def _plain(line: str) -> str:
    line = "".join(" " if _is_unshown(c) else c for c in line)
    line = _LEADING.sub("", line.strip())
    line = _MARKS.sub("", _LINK.sub(r"\1", line))
    return " ".join(line.split()).rstrip("#").strip()


def _is_unshown(character: str) -> bool:
    """Say whether it is a control or reorders text; the joiners of emoji and scripts stay."""
    category = unicodedata.category(character)
    return category in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp") or character in _REORDER


def _fitted(title: str) -> str:
    if cells(title) <= _MAX_CELLS:
        return title
    kept = clipped(title, _MAX_CELLS).removesuffix(_ELLIPSIS)
    # At the end of a word, unless that would leave less than half.
    words = kept.rpartition(" ")[0]
    return (words if cells(words) > _MAX_CELLS // 2 else kept).rstrip(" ,;:-") + _ELLIPSIS


def cells(text: str) -> int:
    """Return the width of `text` in terminal cells, nearly: wide characters count 2."""
    return sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clipped(text: str, width: int) -> str:
    """Return `text` cut to `width` cells, with an ellipsis where something was cut."""
    if cells(text) <= width:
        return text
    kept = ""
    for character in text:
        if cells(kept) + _cells(character) > width - 1:
            break
        kept += character
    return kept.rstrip() + _ELLIPSIS


def padded(text: str, width: int) -> str:
    """Return `text` filled up with spaces to `width` cells."""
    return text + " " * max(0, width - cells(text))
