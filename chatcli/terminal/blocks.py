"""Cuts a Markdown text that is still being written into finished blocks.

A block is finished when no further text can change it: it can then be drawn once and for
all. Where a block ends is CommonMark's rule (https://spec.commonmark.org/0.31.2/) plus GFM
tables, found by markdown-it-py, so that cutting and drawing always agree. Pure: knows text,
not terminals.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from markdown_it import MarkdownIt

MAX_NESTING = 40
"""Containers in containers; deeper text is drawn as it stands."""

Kind: TypeAlias = Literal["paragraph", "list", "quote", "table", "code", "html", "fence", "other"]

_KINDS: dict[str, Kind] = {
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
    "table_open": "table",
    "code_block": "code",
    "html_block": "html",
    "fence": "fence",
}
_ENDED_BY_BLANK_LINE: frozenset[Kind] = frozenset({"paragraph", "quote", "table"})
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})[ \t]*(.*)")
# HTML blocks that end with a sign of their own, not with a blank line (CommonMark 4.6, 1-5).
_LONG_HTML = re.compile(r"\s*<(script|pre|style|textarea|!--|\?|![a-z]|!\[cdata\[)", re.IGNORECASE)
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_ITEM = re.compile(r"[-+*][ \t]+\S|\d{1,9}[.)][ \t]+\S")
# What can begin a line that interrupts a paragraph or turns it into something else.
_INTERRUPTS = frozenset("#>-+*=`~<|:_0123456789")


def parser() -> MarkdownIt:
    """Return the parser that says what a block is.

    Link reference definitions are off: a reference may come long before its definition, when
    it has been drawn already, so both are shown as they stand.
    """
    return (
        MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
        .enable(["table", "strikethrough"])
        .disable("reference")
    )


def lines_of(source: str) -> list[str]:
    """Return the lines, each with its line feed; only that ends a line in Markdown."""
    return re.findall(r"[^\n]*\n|[^\n]+", source)


@dataclass(frozen=True, slots=True)
class Fence:
    """The opening line of a fenced code block: spaces before it, its sign, its info string."""

    indent: int
    sign: str
    info: str

    def closed_by(self, line: str) -> bool:
        """Return whether `line` ends the block."""
        text = line.rstrip(" \t\n")
        bare = text.lstrip(" ")
        same = set(bare) == {self.sign[0]} and len(bare) >= len(self.sign)
        return same and len(text) - len(bare) <= 3

    def may_be_closed_by(self, start: str) -> bool:
        """Return whether a line that begins with `start` may still end the block."""
        bare = start.strip(" \t")
        return start.endswith(bare) and len(start) - len(bare) <= 3 and set(bare) <= {self.sign[0]}


def opening_fence(line: str) -> Fence | None:
    """Return the fence that `line` opens, if it opens one."""
    match = _FENCE.fullmatch(line.rstrip("\n"))
    if match is None or (match[2][0] == "`" and "`" in match[3]):
        return None
    return Fence(len(match[1]), match[2], match[3].strip())


class Splitter:
    """Takes a text in pieces and returns its blocks when they are finished.

    ``"".join(finished) + open`` is always the text so far, and where the borders are does
    not depend on the pieces. Blank lines between blocks belong to the block before them, or
    to the one behind where that one was known to be finished already.
    """

    def __init__(self) -> None:
        self._blocks = parser()
        self._blocks.core.ruler.enableOnly(["normalize", "block"])
        self.open = ""
        self.kind: Kind | None = None
        self.fence: Fence | None = None
        self._scanned = 0  # the part of `open` that is whole lines and has been looked at
        self._blank = False  # whether the last of those lines is blank

    def feed(self, text: str) -> list[str]:
        """Add a piece; return the blocks that are finished now."""
        self.open += text
        finished: list[str] = []
        while (end := self.open.find("\n", self._scanned)) >= 0:
            line = self.open[self._scanned : end + 1]
            self._scanned = end + 1
            finished += self._line(line)
            self._blank = not line.strip()
        if self._left_behind():
            finished.append(self.take(self._scanned))
        return finished

    def flush(self) -> list[str]:
        """End the text; return what was open."""
        rest = self.take(len(self.open))
        self.kind = self.fence = None
        return [rest] if rest else []

    def take(self, n: int) -> str:
        """Cut the first `n` characters off the open block, finished or not."""
        part, self.open = self.open[:n], self.open[n:]
        self._scanned = max(0, self._scanned - n)
        if self._scanned == 0 and self.fence is None:
            self.kind = None
        return part

    def _left_behind(self) -> bool:
        """Return whether the beginning of a line proves that the block before it is over.

        After a blank line only indentation or a marker goes on with a list or with indented
        code: there is no need to wait for the end of the line.
        """
        start = self.open[self._scanned : self._scanned + 1]
        apart = self.kind in {"list", "code"} and self._blank and start != ""
        return apart and not start.isspace() and start not in "-+*0123456789"

    def _line(self, line: str) -> list[str]:
        if self.fence is not None:
            return self._end() if self.fence.closed_by(line) else []
        blank = not line.strip()
        if blank and (self.kind in _ENDED_BY_BLANK_LINE or self._short_html()):
            return self._end()
        return [] if blank or self._goes_on(line) else self._parse()

    def _end(self) -> list[str]:
        self.fence = None
        block = self.take(self._scanned)
        self.kind = None
        return [block]

    def _short_html(self) -> bool:
        return self.kind == "html" and not _LONG_HTML.match(self.open)

    def _goes_on(self, line: str) -> bool:
        """Return whether `line` can only be a further line of the open block (saves a parse)."""
        first = line.lstrip()[0]
        match self.kind:
            case "paragraph":
                return first not in _INTERRUPTS
            case "table":
                return first == "|" or first not in _INTERRUPTS
            case "quote":
                return first == ">" and len(line) - len(line.lstrip(" ")) <= 3
            case "code":
                return line.startswith("    ")
            case "list":
                return self._same_list(line)
            case _:
                return False

    def _same_list(self, line: str) -> bool:
        begin = _ITEM.match(self.open.lstrip("\n"))
        item = _ITEM.match(line)
        if begin is None or item is None or _RULE.match(line):
            return False
        # "-" with "-", "7." with "8."; the delimiter stands before the spaces.
        return begin[0][:-1].split()[0][-1] == item[0][:-1].split()[0][-1]

    def _parse(self) -> list[str]:
        source = self.open[: self._scanned]
        tokens = [t for t in self._blocks.parse(source) if t.level == 0 and t.map is not None]
        offsets = _line_offsets(source)
        starts = [offsets[t.map[0]] for t in tokens if t.map is not None]
        finished = [self.take(b - a) for a, b in zip([0, *starts[1:-1]], starts[1:], strict=False)]
        last = tokens[-1]
        self.kind = _KINDS.get(last.type, "other")
        if self.kind == "fence" and last.map is not None:
            self._open_fence(source, offsets[last.map[0]])
            if self.fence is not None and last.map[1] - last.map[0] > 1:
                end = source[offsets[last.map[1] - 1] : offsets[last.map[1]]]
                return [*finished, *self._end()] if self.fence.closed_by(end) else finished
        if self.kind == "other":  # a heading or a rule: one line, and it is whole
            finished += self._end()
        return finished

    def _open_fence(self, source: str, start: int) -> None:
        line = source[start : source.index("\n", start)]
        self.fence = opening_fence(line)


def _line_offsets(source: str) -> list[int]:
    offsets = [0]
    offsets += [match.end() for match in re.finditer("\n", source)]
    return offsets
