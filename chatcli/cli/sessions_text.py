"""Sessions as lines of text for `chatcli sessions`; pure. All text is made safe to print."""

from collections.abc import Sequence
from datetime import UTC, datetime

from chatcli.core.message import Document, Message
from chatcli.core.ports import Hit
from chatcli.core.printable import model_label, visible, visible_line
from chatcli.core.session import Session, Turn
from chatcli.sessions.export import facts
from chatcli.sessions.titles import clipped, padded

ID_CHARS = 8
"""Enough of an id to be the only one, and to be typed."""


def when(at: float) -> str:
    """Return a time in the user's own time zone, to the minute."""
    try:
        return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return "unknown time"


def table(sessions: Sequence[Session], width: int) -> list[str]:
    """Return aligned lines: id, time, model, title; `width` 0 cuts nothing."""
    models = [clipped(model_label(session.model), 24) for session in sessions]
    column = max(map(len, models), default=0)
    lines = []
    for session, model in zip(sessions, models, strict=True):
        title = visible_line(session.title) or "(untitled)"
        kind = "ask: " if session.kind == "ask" else ""
        start = f"{visible_line(session.id[:ID_CHARS])}  {when(session.updated_at)}  "
        line = f"{start}{padded(model, column)}  {kind}{title}"
        lines.append(clipped(line, width) if width else line)
    return lines


def hit_lines(hit: Hit) -> list[str]:
    """Return a search hit as two lines: the session, and the words around the match."""
    (head,) = table([hit.session], 0)
    return [head, f"    {visible_line(hit.snippet)}"]


def transcript(session: Session, path: Sequence[Turn]) -> list[str]:
    """Return a conversation as text; lines that begin with `---` are facts, not text."""
    n = f"{len(path)} turn" + ("" if len(path) == 1 else "s")
    made = f"{visible_line(session.id)} \u00b7 {when(session.clock)} \u00b7 {n}"
    lines = [visible_line(session.title) or "(untitled)", made]
    if session.system:
        lines += ["", "--- system", visible(session.system)]
    for turn in path:
        for message in turn.asked:
            lines += ["", "--- you", *_documents(message), visible(message.text).rstrip("\n")]
        lines += ["", f"--- {facts(turn)}"]
        if turn.reply.reasoning:
            lines += [f"| {line}" for line in visible(turn.reply.reasoning).strip().split("\n")]
        lines.append(visible(turn.reply.text).rstrip("\n"))
    return lines


def _documents(message: Message) -> list[str]:
    return [
        f"--- with {visible_line(part.name)} ({len(part.text)} characters)"
        for part in message.parts
        if isinstance(part, Document)
    ]
