"""A session as one HTML page that needs nothing else: no script, no font, no picture.

All text is escaped. Of Markdown, only fenced code is set apart; the rest is shown as it was
written, which reads well and cannot go wrong.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape

from chatcli.core.message import Document, Message
from chatcli.core.printable import model_label, visible, visible_line
from chatcli.core.session import Session, Turn
from chatcli.sessions.export import facts, when

_STYLE = """
:root { color-scheme: light dark; --back: #fdfdfb; --text: #1c1c1a; --dim: #6a6a64;
  --line: #deded6; --box: #f2f2ec; }
@media (prefers-color-scheme: dark) {
  :root { --back: #181816; --text: #e6e6e0; --dim: #98988f; --line: #363632; --box: #232320; } }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; background: var(--back);
  color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.4rem; line-height: 1.25; }
h2 { font-size: .8rem; margin: 0 0 .25rem; color: var(--dim); }
section { margin: 1.5rem 0; }
.you { background: var(--box); border-radius: .5rem; padding: .75rem 1rem; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.facts, summary { color: var(--dim); font-size: .85rem; }
pre { background: var(--box); border: 1px solid var(--line); border-radius: .4rem;
  padding: .6rem .8rem; overflow-x: auto; font: .875rem/1.45 ui-monospace, monospace; }
"""

_FENCE = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^\n]*\n(.*?)(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)


def as_html(session: Session, path: Sequence[Turn]) -> str:
    """Return the turns of `path` as a page."""
    title = escape(visible_line(session.title) or "Untitled chat")
    made = f"{visible_line(session.id)} \u00b7 {model_label(session.model)}"
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        f"<h1>{title}</h1>",
        f'<p class="facts">{escape(made)} \u00b7 {when(session.clock)}</p>',
    ]
    if session.system:
        lines.append(_folded("System prompt", session.system))
    for turn in path:
        lines += _turn(turn)
    return "\n".join([*lines, "</html>", ""])


def _turn(turn: Turn) -> Iterator[str]:
    for message in turn.asked:
        yield f'<section class="you"><h2>You</h2>{_message(message)}</section>'
    thought = _folded("Reasoning", turn.reply.reasoning) if turn.reply.reasoning else ""
    yield f"<section><h2>Reply</h2>{thought}{_message(turn.reply)}"
    yield f'<p class="facts">{escape(facts(turn))}</p></section>'


def _message(message: Message) -> str:
    documents = [part for part in message.parts if isinstance(part, Document)]
    return "".join(_folded(doc.name, doc.text) for doc in documents) + _text(message.text)


def _folded(name: str, text: str) -> str:
    shown = f"<pre>{escape(visible(text))}</pre>"
    return f"<details><summary>{escape(visible_line(name))}</summary>{shown}</details>"


def _text(text: str) -> str:
    """Return text with its fenced code in boxes."""
    text = visible(text).strip("\n")
    out = []
    at = 0
    for fence in _FENCE.finditer(text):
        out += [_prose(text[at : fence.start()]), f"<pre>{escape(fence[2])}</pre>"]
        at = fence.end()
    return "".join([*out, _prose(text[at:])])


def _prose(text: str) -> str:
    text = text.strip("\n")
    return f'<div class="text">{escape(text)}</div>' if text else ""
