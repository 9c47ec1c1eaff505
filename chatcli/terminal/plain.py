"""A reply as plain text: for pipes, dumb terminals and --raw.

In a pipe the reply's characters are passed on exactly as the model said them, and ended
with exactly one line feed; on a terminal control characters are made visible.
"""

from collections.abc import Iterator
from typing import TextIO

from chatcli.core.event import Event
from chatcli.core.session import Turn
from chatcli.terminal.env import Env
from chatcli.terminal.painter import SafeText, paint
from chatcli.terminal.theme import DIM, RESET, Look

THINKING = "Thinking:"
"""The line above shown reasoning."""


def write_text(stream: TextIO, text: str) -> None:
    """Write and flush; a character that the stream's encoding lacks becomes "?"."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "replace").decode(encoding))
    stream.flush()


class Lines:
    """Text to a stream as it comes; trailing line feeds wait, so that the end is one.

    `skip_blank`: line feeds before the first character are dropped.
    """

    def __init__(self, stream: TextIO, *, safe: bool, skip_blank: bool, dim: bool = False) -> None:
        self._stream = stream
        self._safe = SafeText() if safe else None
        self._skip_blank = skip_blank
        self._dim = dim
        self._newlines = ""
        self.began = False

    def feed(self, text: str) -> None:
        """Write a piece."""
        if self._safe is not None:
            text = self._safe.feed(text)
        if self._skip_blank and not self.began:
            text = text.lstrip("\n")
        text = self._newlines + text
        shown = text.rstrip("\n")
        self._newlines = text[len(shown) :]
        if shown:
            self.began = True
            # The attribute is set for each piece, so that nothing else is drawn in it.
            write_text(self._stream, f"{DIM}{shown}{RESET}" if self._dim else shown)

    def end(self) -> None:
        """End with exactly one line feed, if there was any text."""
        rest = self._safe.flush() if self._safe is not None else ""
        if self.began or rest or self._newlines:
            write_text(self._stream, f"{rest}\n")
        self._newlines = ""
        self.began = False


class Thought:
    """Reasoning: a label, dim text, a blank line."""

    def __init__(self, env: Env) -> None:
        # On a terminal it stands above the answer; in a pipe it must stay out of it.
        self._stream = env.stdout if env.stdout_tty else env.stderr
        safe = env.stdout_tty or env.stderr_tty
        dim = env.attributes if env.stdout_tty else env.color_err
        self._dim = dim
        self._lines = Lines(self._stream, safe=safe, skip_blank=True, dim=dim)

    @property
    def open(self) -> bool:
        """Whether a line has begun."""
        return self._lines.began

    def feed(self, text: str) -> None:
        """Show a piece."""
        if not self._lines.began:
            if not text.strip("\n"):
                return
            label = f"{DIM}{THINKING}{RESET}" if self._dim else THINKING
            write_text(self._stream, f"{label}\n")
        self._lines.feed(text)

    def end(self) -> None:
        """End the text and leave a blank line, if there was any."""
        if self._lines.began:
            self._lines.end()
            write_text(self._stream, "\n")


class PlainPainter:
    """Implements `Painter` with nothing but text."""

    def __init__(self, env: Env) -> None:
        self._tty = tty = env.stdout_tty
        self._reply = Lines(env.stdout, safe=tty, skip_blank=tty)
        self._thought = Thought(env)

    @property
    def idle(self) -> bool:
        """Whether the cursor stands at the start of a line."""
        return not (self._reply.began or self._thought.open)

    def reasoning(self, text: str) -> None:
        """Show a piece of the reasoning."""
        if self._tty and self._reply.began:
            self._reply.end()
        self._thought.feed(text)

    def text(self, text: str) -> None:
        """Show a piece of the answer."""
        self._thought.end()
        self._reply.feed(text)

    def end(self) -> None:
        """End the last line."""
        self._thought.end()
        self._reply.end()


def write(events: Iterator[Event], env: Env, look: Look) -> Turn:
    """Write a turn's reply to stdout as it comes, all else to stderr; return the turn.

    Raises:
        BrokenPipeError: the reader has gone; the caller decides what that means.
    """
    return paint(events, PlainPainter(env), env, look)
