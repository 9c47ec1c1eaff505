"""Surroundings in memory, turns made of events, and a terminal screen to look at."""

import io
import os
from collections.abc import Iterable, Iterator

import pyte

from chatcli.core.decision import Route
from chatcli.core.event import Delta, Event, Finished, Prefilled, Routed
from chatcli.core.message import assistant, user
from chatcli.core.session import FinishReason, Turn, TurnId
from chatcli.core.usage import Usage
from chatcli.terminal.env import Env


class Size:
    """A terminal size that a test can change."""

    def __init__(self, columns: int, lines: int) -> None:
        self.now = os.terminal_size((columns, lines))

    def __call__(self) -> os.terminal_size:
        return self.now


def memory_env(
    *,
    tty: bool,
    stderr_tty: bool | None = None,
    color: bool | None = None,
    dark: bool = True,
    size: tuple[int, int] = (80, 24),
) -> Env:
    """Return surroundings that draw into memory, at a fixed size."""
    stderr_tty = tty if stderr_tty is None else stderr_tty
    return Env(
        stdin=io.StringIO(),
        stdout=io.StringIO(newline=""),
        stderr=io.StringIO(newline=""),
        stdin_tty=tty,
        stdout_tty=tty,
        stderr_tty=stderr_tty,
        color=tty if color is None else color,
        color_err=stderr_tty if color is None else color,
        dark=dark,
        environ={"TERM": "xterm-256color"},
        attributes=tty,
        cursor=tty,
        size=Size(*size),
    )


def out(env: Env) -> str:
    """Return what was written to stdout."""
    assert isinstance(env.stdout, io.StringIO)
    return env.stdout.getvalue()


def err(env: Env) -> str:
    """Return what was written to stderr."""
    assert isinstance(env.stderr, io.StringIO)
    return env.stderr.getvalue()


def made_turn(
    text: str = "", reasoning: str = "", finish: FinishReason = "stop", usage: Usage | None = None
) -> Turn:
    """Return a finished turn."""
    return Turn(
        id=TurnId("t"),
        parent=None,
        asked=(user("question"),),
        reply=assistant(text, reasoning),
        route=Route(model="scripted", rule="chosen"),
        finish=finish,
        started_at=0.0,
        usage=usage or Usage(),
    )


def turn_of(pieces: Iterable[str], thoughts: Iterable[str] = ()) -> Iterator[Event]:
    """Yield the events of a turn that thinks `thoughts` and says `pieces`."""
    pieces, thoughts = list(pieces), list(thoughts)
    yield Routed(Route(model="scripted", rule="chosen"))
    yield Prefilled(3, 3)
    yield from (Delta("reasoning", thought) for thought in thoughts if thought)
    yield from (Delta("text", piece) for piece in pieces if piece)
    yield Finished(made_turn("".join(pieces), "".join(thoughts)))


class Screen:
    """A terminal with a long memory."""

    def __init__(self, columns: int, lines: int) -> None:
        self.screen = pyte.HistoryScreen(columns, lines, history=100_000, ratio=0.001)
        self.screen.set_mode(pyte.modes.LNM)  # the terminal driver turns \n into \r\n
        self._stream = pyte.Stream(self.screen)

    def feed(self, text: str) -> None:
        """Draw. A joiner is left out: pyte would drop what follows it.

        So it draws a joined picture wider than we measure it, as many a terminal does.
        """
        self._stream.feed(text.replace("\u200d", ""))

    @property
    def visible(self) -> list[str]:
        """The lines on the screen, right-stripped, without the empty ones at the end."""
        lines = [line.rstrip() for line in self.screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def lines(self) -> list[str]:
        """Scrollback and screen."""
        history = [
            "".join(row[column].data for column in range(self.screen.columns)).rstrip()
            for row in self.screen.history.top
        ]
        return [*history, *self.visible]
