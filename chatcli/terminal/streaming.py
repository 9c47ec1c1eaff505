"""A reply drawn as Markdown while it is being written.

Finished blocks are printed once and belong to the scrollback; only the open block is drawn
again, at most 20 times a second and for at most a twentieth of the time.
"""

import re
import time
from collections.abc import Callable
from itertools import pairwise

from rich.color import ColorSystem
from rich.style import Style
from rich.text import Text

from chatcli.terminal.blocks import Splitter, lines_of, opening_fence
from chatcli.terminal.code import CodeStream
from chatcli.terminal.env import Env
from chatcli.terminal.live import Live, Row
from chatcli.terminal.markdown import Ink, render
from chatcli.terminal.painter import SafeText
from chatcli.terminal.shed import shed
from chatcli.terminal.theme import ThemeName

_REFRESH_S = 0.05
_COST = 20
"""A refresh may not come before this many times what the last one took."""
_SLOWEST_S = 0.5
_LEAST_OPEN = 5
"""Rows that a block may always keep open, however low the terminal is."""

# A line of which only marks are there yet: the next character decides what it is (a rule, an
# underline that makes a heading, a list, a fence), so it is not shown as something else first.
_UNDECIDED = re.compile(r"[ \t]*[-=*_+#>|`~:]+[ \t]*")


class MarkdownPainter:
    """Draws the text of a reply: on a terminal as it comes, into a pipe block by block."""

    def __init__(
        self, env: Env, theme: ThemeName, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._env = env
        self._clock = clock
        self._theme: ThemeName = theme
        self._live = Live(env)
        self._begin()

    def _begin(self) -> None:
        self._safe = SafeText()
        self._splitter = Splitter()
        self._code: CodeStream | None = None
        self._code_shown = False  # whether a row of it is printed
        self._waiting = ""
        self._began = False  # whether anything but blank lines came
        self._printed = False  # whether a row stands above the open block
        self._apart = False  # whether the next block is set apart from it by a blank row
        self._shed_at = 0  # from how many rows on the open block may be tried to be cut
        self._next_s = 0.0

    @property
    def idle(self) -> bool:
        """Whether nothing is being drawn."""
        return not self._began

    def adopt(self, text: str) -> None:
        """Take over the open row `text` that was drawn before this painter was there."""
        self._live.adopt(Row(text, len(text)))

    def text(self, text: str) -> None:
        """Show a piece of the answer: at once, or with the next refresh."""
        text = self._safe.feed(text)
        self._waiting += text if self._began else text.lstrip("\n")
        self._began = self._began or bool(self._waiting)
        if self._waiting and self._clock() >= self._next_s:
            self._refresh_in_time()

    def end(self) -> None:
        """Print what is open for good."""
        blocks = self._feed(self._safe.flush()) + self._splitter.flush()
        self._live.update([row for block in blocks for row in self._finished(block)], [])
        self._begin()

    # -- one refresh -----------------------------------------------------------------

    @property
    def _ink(self) -> Ink:
        return Ink(self._env.width, self._theme, self._env.color)

    def _feed(self, text: str) -> list[str]:
        waiting, self._waiting = self._waiting + text, ""
        return self._splitter.feed(waiting)

    def _refresh_in_time(self) -> None:
        began_s = self._clock()
        first = self._next_s == 0.0
        self._refresh()
        now = self._clock()
        # The first refresh pays for what is set up once: that says nothing about the next.
        cost_s = 0.0 if first else now - began_s
        self._next_s = now + max(_REFRESH_S, min(_SLOWEST_S, _COST * cost_s))

    def _refresh(self) -> None:
        blocks = self._feed("")
        committed = [row for block in blocks for row in self._finished(block)]
        self._shed_at = 0 if blocks else self._shed_at
        if self._splitter.fence is not None:
            more, rows = self._open_code()
        else:
            more, rows = self._open_block()
        self._live.update(committed + more, rows)

    def _finished(self, block: str) -> list[Row]:
        if self._code is not None:  # its first lines are printed already
            lines, self._code = self._code.lines(block), None
            return self._more_code(lines)
        first = next((line for line in lines_of(block) if line.strip()), "")
        fence = opening_fence(first)
        lines = (
            render(block, self._ink) if fence is None else CodeStream(fence, self._ink).lines(block)
        )
        return self._print(lines)

    def _set_apart(self, lines: list[Text], *, new: bool) -> list[Row]:
        """Return the rows of a block's lines, with a blank row above if it is new."""
        blank = new and self._printed and self._apart and bool(lines)
        return [*([Row("", 0)] if blank else []), *(row_of(line, self._env) for line in lines)]

    def _print(self, lines: list[Text], *, new: bool = True) -> list[Row]:
        """Return the rows of lines that are printed for good."""
        rows = self._set_apart(lines, new=new)
        if lines:
            self._printed = self._apart = True
        return rows

    def _open_code(self) -> tuple[list[Row], list[Row]]:
        """Commit the whole lines of an open code block; its last, partial line stays open."""
        splitter = self._splitter
        if self._code is None and splitter.fence is not None:
            self._code = CodeStream(splitter.fence, self._ink)
            self._code_shown = False
        if self._code is None:
            return [], []
        self._code.resized(self._ink)
        lines = self._code.lines(splitter.take(splitter.open.rfind("\n") + 1))
        committed = self._more_code(lines)
        rows = self._code.partial(splitter.open)
        return committed, self._set_apart(rows, new=not self._code_shown)

    def _more_code(self, lines: list[Text]) -> list[Row]:
        """Return the rows of further whole lines of the open code block."""
        rows = self._print(lines, new=not self._code_shown)
        self._code_shown = self._code_shown or bool(lines)
        return rows

    def _open_block(self) -> tuple[list[Row], list[Row]]:
        """Draw the open block; where it outgrows half of the screen, commit its top.

        Half, so that a terminal made smaller can still hold what is to be drawn again.
        """
        ink, room = self._ink, max(_LEAST_OPEN, self._live.room // 2)
        committed: list[Row] = []
        lines = render(presentable(self._splitter.open), ink)
        if len(lines) >= max(room, self._shed_at) and self._env.cursor:
            n = shed(self._splitter.open, self._splitter.kind, ink, room)
            # Trying is dear: after a failure, wait until the block has grown.
            self._shed_at = 0 if n else len(lines) + room // 2 + 1
            if n:
                part = self._splitter.take(n)
                committed = self._print(render(part, ink))
                self._apart = part.endswith("\n\n")
                lines = render(presentable(self._splitter.open), ink)
        return committed, self._set_apart(lines, new=True)


def presentable(source: str) -> str:
    """Return an open block's source as it should be shown now.

    The last line is left out while it is nothing but marks, and a code span or a strong
    emphasis that is begun is ended, so that the marks are not seen before they mean something.
    """
    head, newline, last = source.rpartition("\n")
    if _UNDECIDED.fullmatch(last):
        return head + newline
    bare = last.rstrip("*_`~")
    marks = last[len(bare) :]
    for mark in ("`", "**"):
        if bare.count(mark) % 2 and not bare[: bare.rindex(mark)][-1:].isalnum():
            # Of a closing mark, a part may be there already.
            end = mark.removeprefix(marks) if mark.startswith(marks) else ""
            return source + end
    return head + newline + bare if marks and bare.endswith(" ") else source


def row_of(line: Text, env: Env) -> Row:
    """Return a line as a row, with the escape codes that the terminal may get."""
    plain = line.plain
    sure = all(char < "\u0300" for char in plain)
    if not (env.color or env.attributes):
        return Row(plain, line.cell_len, sure)
    system = ColorSystem.STANDARD if env.color else None
    return Row("".join(_spans(line, system)), line.cell_len, sure)


def _spans(line: Text, system: ColorSystem | None) -> list[str]:
    """Return the parts of a line with their codes. Reset after each: nothing leaks."""
    parts = []
    edges = sorted(
        {0, len(line), *(edge for span in line.spans for edge in (span.start, span.end))}
    )
    for start, end in pairwise(edges):
        if start >= len(line):
            break
        styles = [s.style for s in line.spans if s.start <= start and s.end >= end]
        style = Style.combine([_style(line.style), *(_style(s) for s in styles)])
        if system is None:
            style = style.without_color
        text = line.plain[start:end]
        parts.append(style.render(text, color_system=system or ColorSystem.STANDARD))
    return parts


def _style(style: str | Style) -> Style:
    return style if isinstance(style, Style) else Style.parse(style)
