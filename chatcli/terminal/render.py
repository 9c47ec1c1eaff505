"""Where a turn meets the screen: Markdown on a terminal, plain text everywhere else."""

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from chatcli.core.event import Event
from chatcli.core.session import Turn
from chatcli.terminal.env import Env
from chatcli.terminal.painter import paint
from chatcli.terminal.plain import Thought, write, write_text
from chatcli.terminal.theme import Look

if TYPE_CHECKING:
    from chatcli.terminal.streaming import MarkdownPainter

__all__ = ["Look", "show", "warm"]


def warm() -> None:
    """Import what Markdown needs (0.15 s): call it, in a thread, while the model loads."""
    import chatcli.terminal.streaming  # noqa: F401  the import is the purpose


def show(events: Iterator[Event], env: Env, look: Look) -> Turn:
    """Draw a turn: the reply on stdout, remarks on stderr; return the finished turn.

    Raises:
        ChatcliError: what the turn raised, after the shown part is ended with a line feed.
        BrokenPipeError: the reader of a pipe has gone.
    """
    drawn = env.cursor if env.stdout_tty else env.color
    if not look.markdown or not drawn:
        return write(events, env, look)
    return paint(events, _Painter(env, look), env, look)


# What a piece may not hold to be shown before the Markdown painter is there.
_MARKS = frozenset("*_`#>-+=|~[<\\&!")


class _Painter:
    """Implements `Painter`: reasoning as plain text, the answer as Markdown.

    The Markdown painter is imported beside the prefill. Should a token be faster, the plain
    beginning of the first line is shown as it is, and taken over.
    """

    def __init__(self, env: Env, look: Look) -> None:
        self._env = env
        self._look = look
        self._thought = Thought(env)
        self._early = ""
        self._inner: MarkdownPainter | None = None
        self._importing = threading.Thread(target=warm, daemon=True)
        self._importing.start()

    @property
    def idle(self) -> bool:
        """Whether the cursor stands at the start of a line."""
        answering = self._inner is not None and not self._inner.idle
        return not (self._early or answering or self._thought.open)

    def reasoning(self, text: str) -> None:
        """Show a piece of the reasoning."""
        if self._early or self._inner is not None:
            self._markdown().end()
        self._thought.feed(text)

    def text(self, text: str) -> None:
        """Show a piece of the answer."""
        self._thought.end()
        if self._importing.is_alive() and self._inner is None and self._plain(text):
            self._early += text
            write_text(self._env.stdout, text)
        else:
            self._markdown().text(text)

    def end(self) -> None:
        """End the last line."""
        self._thought.end()
        if self._early or self._inner is not None:
            self._markdown().end()

    def _plain(self, text: str) -> bool:
        fits = len(self._early) + len(text) < self._env.width
        simple = text.isascii() and text.isprintable() and _MARKS.isdisjoint(text)
        return self._env.cursor and fits and simple and bool(self._early or text.strip())

    def _markdown(self) -> "MarkdownPainter":
        from chatcli.terminal.streaming import MarkdownPainter

        if self._inner is None:
            self._inner = MarkdownPainter(self._env, self._look.theme)
        if self._early:
            self._inner.adopt(self._early)
            early, self._early = self._early, ""
            self._inner.text(early)
        return self._inner
