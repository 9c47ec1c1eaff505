"""Rows at the end of the terminal that can be redrawn, below rows that stay for good.

One write for each change, in a synchronized update (https://gist.github.com/christianparpart/
d8a62cc1ab659194337d73e399004036; terminals without it ignore it), the cursor hidden only
within. Knows rows, not what they mean.
"""

from dataclasses import dataclass

from chatcli.terminal.env import Env
from chatcli.terminal.plain import write_text

_BEGIN = "\x1b[?2026h\x1b[?25l"
_END = "\x1b[?25h\x1b[?2026l"
_CLIP, _WRAP = "\x1b[?7l", "\x1b[?7h"
_ERASE_BELOW = "\x1b[J"


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its text with escape codes, its width, and whether all agree about the width.

    `sure` is false where terminals measure differently (pictures made of several
    characters): such a row is written again when it is committed.
    """

    ansi: str
    cells: int
    sure: bool = True


class Live:
    """The open rows. Between two updates the cursor stands at the end of the last of them."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._rows: list[Row] = []

    @property
    def idle(self) -> bool:
        """Whether no row is open."""
        return not self._rows

    @property
    def room(self) -> int:
        """How many rows can be open at once."""
        return max(1, self._env.height - 1)

    def adopt(self, row: Row) -> None:
        """Take a row that stands at the cursor as the open one."""
        self._rows = [row]

    def update(self, committed: list[Row], rows: list[Row]) -> None:
        """Print `committed` for good where the open rows were, then `rows` as the open ones.

        Of more rows than the screen can hold only the last are shown; the others are not
        lost, since they are shown when they are committed.
        """
        if not self._env.cursor:
            if committed:
                write_text(self._env.stdout, "".join(f"{row.ansi}\n" for row in committed))
            return
        rows = rows[-self.room :]
        old, new = self._rows, committed + rows
        kept = self._kept(new, len(committed))
        self._rows = rows
        if kept == len(old) == len(new):
            # Nothing new; but rows that were open may have been committed as they stand.
            if old and not rows:
                write_text(self._env.stdout, "\n")
            return
        move = self._to_row(old, kept)
        stay = "".join(f"{row.ansi}\n" for row in committed[kept:])
        still = new[max(kept, len(committed)) :]
        live = "\n".join(row.ansi for row in still)
        write_text(self._env.stdout, f"{_BEGIN}{move}{stay}{_CLIP}{live}{_WRAP}{_END}")

    def _kept(self, new: list[Row], n_committed: int) -> int:
        """Return how many of the open rows can stay as they are drawn."""
        width = self._env.width
        kept = 0
        for row, drawn in zip(new, self._rows, strict=False):
            if row != drawn or row.cells > width or not row.sure:
                break
            kept += 1
        # Where open rows go away, the last one is drawn again: the cursor belongs at its end.
        shrinks = len(new) > n_committed and kept == len(new) < len(self._rows)
        return kept - 1 if shrinks else kept

    def _to_row(self, rows: list[Row], index: int) -> str:
        """Return the codes that bring the cursor to the start of row `index`, and clear there."""
        if not rows:
            return ""
        if index == len(rows):
            return "\n"
        # After a resize the terminal has broken long rows again: count what they take now.
        width = self._env.width
        up = sum(max(1, -(-row.cells // width)) for row in rows[index:]) - 1
        return (f"\x1b[{up}A" if up else "") + "\r" + _ERASE_BELOW
