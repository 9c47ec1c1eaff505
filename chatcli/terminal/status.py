"""The status line: one line under the prompt, made once a turn and fitted to the width."""

from dataclasses import dataclass

from chatcli.core.ports import Measure
from chatcli.core.printable import model_label, visible_line
from chatcli.core.session import Turn
from chatcli.sessions.titles import cells, clipped
from chatcli.terminal.stats import percent

_SEPARATOR = " · "

_LEAST = 12
"""Fewer columns than this are not worth beginning a part in."""


@dataclass(frozen=True, slots=True)
class Status:
    """What it tells. `state` is "" or why there are no counts yet: "loading"."""

    model: str
    state: str = ""
    measure: Measure | None = None
    turn: Turn | None = None
    title: str = ""
    waiting: int = 0
    editing: bool = False


def _parts(status: Status) -> list[str]:
    """Return the parts, the most needed first."""
    parts = [model_label(status.model)]
    if status.state:
        parts[0] += f" ({status.state})"
    if status.editing:
        parts.append("editing: Ctrl-C cancels")
    if status.waiting:
        parts.append(f"{status.waiting} file{'' if status.waiting == 1 else 's'} attached")
    if status.measure is not None:
        used, limit = status.measure.prompt, status.measure.limit
        parts.append(f"{used:,}/{limit:,} tokens ({percent(used, limit)})")
    if status.turn is not None:
        usage = status.turn.usage
        if usage.tokens_per_s:
            parts.append(f"{usage.tokens_per_s:.1f} tokens/s")
        reused = usage.reused_memory + usage.reused_disk
        parts.append(f"{usage.evaluated:,} new + {reused:,} reused")
    if status.title:
        parts.append(visible_line(status.title))
    return parts


def status_line(status: Status, width: int) -> str:
    """Return the parts that fit into `width` columns, the last one cut where it must be."""
    line = ""
    for part in _parts(status):
        longer = f"{line}{_SEPARATOR}{part}" if line else part
        if cells(longer) > width:
            return clipped(longer, width) if width - cells(line) > _LEAST else line
        line = longer
    return line
