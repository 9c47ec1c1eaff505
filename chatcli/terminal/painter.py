"""The one loop over a turn's events: the reply to a painter, all else to the margin.

The margin is stderr: reasoning where stdout is not a terminal, notices, progress. Knows the
order of events and what shares the screen with what; not how a reply is drawn.
"""

import time
from collections.abc import Iterator
from typing import Protocol, assert_never

from chatcli.core.decision import Verdict
from chatcli.core.event import (
    Delta,
    Event,
    Finished,
    Judged,
    Notice,
    Prefilled,
    Restored,
    Retrieved,
    Routed,
    ToolFinished,
    ToolStarted,
)
from chatcli.core.printable import visible, visible_line
from chatcli.core.session import Turn
from chatcli.terminal.env import Env
from chatcli.terminal.theme import DIM, RESET, Look

PROGRESS_AFTER_S = 0.3
"""A prefill shorter than this needs no progress line: it would only flash."""

_ERASE_LINE = "\r\x1b[K"


class Painter(Protocol):
    """Draws a reply on stdout. What it is given, it shows: all of it, in order."""

    @property
    def idle(self) -> bool:
        """Whether the cursor stands at the start of a line and nothing is being drawn."""
        ...

    def reasoning(self, text: str) -> None:
        """Show a piece of the reasoning."""
        ...

    def text(self, text: str) -> None:
        """Show a piece of the answer."""
        ...

    def end(self) -> None:
        """Show what is still held back and end the last line; more may follow (tools)."""
        ...


class SafeText:
    """Makes a stream of text visible: control characters are shown, not obeyed.

    A carriage return at the end of a piece waits for the next one: before a line feed it
    means nothing.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Return what can be shown of the text so far."""
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        return visible(text.removesuffix("\r") if self._held else text)

    def flush(self) -> str:
        """Return what was held back."""
        held, self._held = self._held, ""
        return visible(held)


class Margin:
    """Remarks on stderr: lines that stay, and one line that is erased again."""

    def __init__(self, env: Env, look: Look) -> None:
        self._env = env
        self._look = look
        self._live = env.stderr_tty and env.environ.get("TERM", "") not in {"", "dumb"}
        self._passing = ""

    def _write(self, text: str) -> None:
        self._env.stderr.write(text)
        self._env.stderr.flush()

    def note(self, text: str) -> None:
        """Show one dim line that stays."""
        if self._look.quiet:
            return
        self.erase()
        self._write(self.dim(visible_line(text)) + "\n")

    def dim(self, text: str) -> str:
        """Return `text` as a remark."""
        return f"{DIM}{text}{RESET}" if self._env.color_err and text else text

    def passing(self, text: str) -> None:
        """Show one dim line that is replaced by the next and erased in the end."""
        text = text[: max(1, self._env.width - 1)]
        if self._live and not self._look.quiet and text != self._passing:
            self._passing = text
            self._write(_ERASE_LINE + self.dim(text))

    def erase(self) -> None:
        """Take the passing line away."""
        if self._passing:
            self._passing = ""
            self._write(_ERASE_LINE)


class _Course:
    """What has happened in a turn so far, as far as drawing needs it."""

    def __init__(self, painter: Painter, env: Env, look: Look) -> None:
        self._painter = painter
        self._margin = Margin(env, look)
        self._look = look
        self._waiting: list[str] = []
        self._began_s = time.monotonic()
        self._thinking_s: float | None = None
        self._tools: dict[str, str] = {}
        # stdout and stderr on one screen: a remark must not land inside a line of the reply.
        self._shared = env.stdout_tty and env.stderr_tty

    def see(self, event: Event) -> Turn | None:
        """Draw one event; return the turn if it is the last."""
        match event:
            case Delta():
                self._delta(event)
            case Prefilled(done, total):
                self._prefilled(done, total)
            case Notice(text):
                self._remark(text)
            case Judged(verdict):
                self._judged(verdict)
            case Routed() | Restored():
                self._began_s = time.monotonic()
            case Retrieved(sources):
                self._remark(f"sources: {', '.join(sources)}")
            case ToolStarted() | ToolFinished():
                self._tool(event)
            case Finished(turn):
                return turn
            case _:
                assert_never(event)
        return None

    def _delta(self, event: Delta) -> None:
        if event.kind == "reasoning" and (self._look.quiet or not self._look.reasoning):
            self._hidden_thought()
            return
        self._margin.erase()
        if event.kind == "text":
            self._painter.text(event.text)
        else:
            self._painter.reasoning(event.text)

    def _hidden_thought(self) -> None:
        now = time.monotonic()
        self._thinking_s = self._thinking_s or now
        if self._painter.idle:
            self._margin.passing(f"thinking... {now - self._thinking_s:.0f} s")

    def _prefilled(self, done: int, total: int) -> None:
        lasted_s = time.monotonic() - self._began_s
        if done >= total:
            self._margin.erase()
        elif self._look.progress and lasted_s > PROGRESS_AFTER_S and self._painter.idle:
            self._margin.passing(f"reading {done:,} of {total:,} tokens")

    def _judged(self, verdict: Verdict) -> None:
        if verdict.action != "allow":
            self._remark(f"safety rule {verdict.rule}: {verdict.action}")

    def _tool(self, event: ToolStarted | ToolFinished) -> None:
        self._painter.end()  # the step's text is complete: the next step begins a new one
        match event:
            case ToolStarted(call_id, name):
                self._tools[call_id] = name
                self._remark(f"running {name}")
            case ToolFinished(call_id, failed):
                if failed:
                    self._remark(f"{self._tools.get(call_id, 'tool')} failed")

    def _remark(self, text: str) -> None:
        if self._shared and not self._painter.idle:
            self._waiting.append(text)
        else:
            self._margin.note(text)

    def end(self) -> None:
        """End the reply's last line, also after an error; then the remarks that waited."""
        self._margin.erase()
        self._painter.end()
        for text in self._waiting:
            self._margin.note(text)
        self._waiting.clear()


def paint(events: Iterator[Event], painter: Painter, env: Env, look: Look) -> Turn:
    """Draw a turn's events to their end, and return the turn.

    Whatever is raised on the way (an error, a second Ctrl-C), the line is ended first.
    """
    course = _Course(painter, env, look)
    turn = None
    try:
        for event in events:
            turn = course.see(event) or turn
    finally:
        course.end()
    if turn is None:
        msg = "the events ended without Finished"
        raise RuntimeError(msg)
    return turn
