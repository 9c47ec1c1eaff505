"""A fenced code block that is still being written: its finished lines are drawn for good."""

import re

from rich.text import Text

from chatcli.terminal.blocks import Fence, lines_of, opening_fence
from chatcli.terminal.markdown import Ink, highlight, language_of
from chatcli.terminal.wrap import chop

_BEHIND = 150
"""Lines before a new one that are read again to colour it (an open string, a comment)."""


class CodeStream:
    """Takes the source of one fenced block, whole or in pieces cut at line ends.

    A finished line is one row, however long: the terminal breaks it, and copies it as one.
    """

    def __init__(self, fence: Fence, ink: Ink) -> None:
        self._fence = fence
        self._ink = ink
        self._language = language_of(fence.info)
        self._behind: list[str] = []
        self._opened = False

    def lines(self, source: str) -> list[Text]:
        """Return the rows of further whole lines of source; the fence's own lines are none."""
        rows: list[Text] = []
        lines = lines_of(source)
        while not self._opened and lines:
            self._opened = opening_fence(lines.pop(0)) is not None
            if self._opened and self._fence.info:
                rows.append(Text(self._fence.info, self._ink.style("label")))
        code = [self._content(line) for line in lines if not self._fence.closed_by(line)]
        return rows + self._coloured(code) if code else rows

    def partial(self, start: str) -> list[Text]:
        """Return the rows of a line of which only the start is there, cut to the width."""
        if not self._opened or not start or self._fence.may_be_closed_by(start):
            return []
        behind = self._behind
        rows = self._coloured([self._content(start)])
        self._behind = behind
        return [part for row in rows for part in chop(row, self._ink.width)]

    def resized(self, ink: Ink) -> None:
        """Draw at another width from now on."""
        self._ink = ink

    def _content(self, line: str) -> str:
        return re.sub(rf"^ {{0,{self._fence.indent}}}", "", line.rstrip("\n"))

    def _coloured(self, code: list[str]) -> list[Text]:
        known = self._behind + code
        self._behind = known[-_BEHIND:]
        source = "".join(f"{line}\n" for line in known)
        return highlight(source, self._language, self._ink)[-len(code) :]
