"""A session as a file: Markdown or HTML for people, JSON for everything; pure.

Control characters are made visible in the first two and escaped in the third, so that all
may be printed on a terminal. How a reply ended stands in a line of its own, never in the
text. Markdown and HTML hold the current path; JSON holds the whole tree, token ids too.
"""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from chatcli.core.message import Document, Message
from chatcli.core.printable import model_label, visible, visible_line
from chatcli.core.session import Session, Turn
from chatcli.sessions import codec
from chatcli.sessions.tree import ending

FORMAT = "chatcli-sessions"
FORMAT_VERSION = 1

# DEL, C1 and what reorders or ends lines: JSON escapes only what is below a space.
_UNSAFE = re.compile(r"[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def safe_json(value: object, indent: int | None = 1) -> str:
    """Return JSON in which every character that a terminal obeys is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def as_json(session: Session, turns: Sequence[Turn]) -> str:
    """Return a session with its whole tree, one line for each turn."""
    head = {"format": FORMAT, "version": FORMAT_VERSION, "sessions": []}
    whole = safe_json(codec.session_to(session) | {"turns": []}, indent=None)
    lines = ",\n".join(safe_json(codec.turn_to(turn), indent=None) for turn in turns)
    opening = safe_json(head, indent=None).removesuffix("]}")
    return f"{opening}\n{whole.removesuffix(']}')}\n{lines}\n]}}\n]}}"


def when(at: float) -> str:
    """Return a time (seconds since the epoch) in UTC, to the minute."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return "unknown time"


def facts(turn: Turn) -> str:
    """Return the line below a reply: model, tokens, and how it ended unless by itself."""
    parts = [model_label(turn.route.model)]
    if turn.usage.completion:
        parts.append(f"{turn.usage.prompt} + {turn.usage.completion} tokens")
    if ended := ending(turn):
        parts.append(ended)
    return " \u00b7 ".join(parts)


# -- Markdown ----------------------------------------------------------------------------


def as_markdown(session: Session, path: Sequence[Turn]) -> str:
    """Return the turns of `path` as Markdown."""
    title = visible_line(session.title) or "Untitled chat"
    made = f"{visible_line(session.id)} \u00b7 {model_label(session.model)}"
    blocks = [f"# {title}", f"*{made} \u00b7 {when(session.clock)}*"]
    if session.system:
        blocks += ["## System", visible(session.system)]
    for turn in path:
        for message in turn.asked:
            blocks += ["## You", *map(_markdown_document, _documents(message)), _words(message)]
        if turn.reply.reasoning:
            blocks += ["## Reasoning", _quoted(turn.reply.reasoning)]
        blocks += ["## Reply", _words(turn.reply), f"*{facts(turn)}*"]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _documents(message: Message) -> list[Document]:
    return [part for part in message.parts if isinstance(part, Document)]


def _words(message: Message) -> str:
    return visible(message.text).strip("\n")


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in visible(text).strip("\n").split("\n"))


def _markdown_document(document: Document) -> str:
    text = visible(document.text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"**{visible_line(document.name)}**\n\n{fence}\n{text}\n{fence}"
