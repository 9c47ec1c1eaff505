"""Where a turn meets the screen: Markdown on a terminal, plain text everywhere else."""

from collections.abc import Iterator

from chatcli.core.event import Event
from chatcli.core.session import Turn
from chatcli.terminal.env import Env
from chatcli.terminal.plain import write
from chatcli.terminal.theme import Look

__all__ = ["Look", "show", "warm"]


def warm() -> None:
    """Import what Markdown needs (about 0.1 s): call it while something else is waited for."""


def show(events: Iterator[Event], env: Env, look: Look) -> Turn:
    """Draw a turn: the reply on stdout, remarks on stderr; return the finished turn.

    Raises:
        ChatcliError: what the turn raised, after the shown part is ended with a line feed.
        BrokenPipeError: the reader of a pipe has gone.
    """
    return write(events, env, look)
