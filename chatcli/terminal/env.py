"""The process's surroundings: streams, what they are connected to, width, colour.

Everything that draws takes an `Env`, so that a test can draw into memory at any width.
Knows nothing about what is drawn.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TextIO, TypeAlias

ColorWish: TypeAlias = Literal["auto", "always", "never"]
ThemeWish: TypeAlias = Literal["auto", "dark", "light"]

FALLBACK_SIZE = os.terminal_size((80, 24))
"""Columns and lines where there is no terminal to ask."""


def terminal_size(*streams: TextIO) -> os.terminal_size:
    """Return the size of the first of `streams` that is a terminal which knows its size.

    Asked anew at each call, and not from COLUMNS: a shell exports that once and a resize
    makes it wrong.
    """
    for stream in streams:
        try:
            size = os.get_terminal_size(stream.fileno())
        except (OSError, ValueError):  # no terminal; no file descriptor; closed
            continue
        if size.columns > 0 and size.lines > 0:  # a bare pty says 0 x 0
            return size
    return FALLBACK_SIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class Env:
    """Streams and what they can show.

    `color` and `color_err`: colours on stdout and stderr. `attributes`: bold, italic and
    dim on a terminal's stdout; NO_COLOR leaves them, since they carry meaning.
    `cursor`: stdout is a terminal that can move its cursor, so lines can be redrawn.
    `dark`: the background. `size` is asked at each use; None asks the streams.
    """

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    stdin_tty: bool
    stdout_tty: bool
    stderr_tty: bool
    color: bool
    color_err: bool
    dark: bool
    environ: Mapping[str, str]
    attributes: bool = False
    cursor: bool = False
    size: Callable[[], os.terminal_size] | None = None

    @property
    def _size(self) -> os.terminal_size:
        return self.size() if self.size else terminal_size(self.stdout, self.stderr)

    @property
    def width(self) -> int:
        """Terminal columns now; 80 without a terminal."""
        return self._size.columns

    @property
    def height(self) -> int:
        """Terminal lines now; 24 without a terminal."""
        return self._size.lines

    @property
    def theme(self) -> Literal["dark", "light"]:
        """The name of the theme that fits the background."""
        return "dark" if self.dark else "light"

    @classmethod
    def current(cls, color: ColorWish = "auto", theme: ThemeWish = "auto") -> "Env":
        """Return the surroundings of this process.

        `color` "always" and "never" win over the environment. With "auto", NO_COLOR
        (no-color.org), FORCE_COLOR, CLICOLOR_FORCE and TERM=dumb count. FORCE_COLOR never
        colours a stdout that is not a terminal: a reply in a pipe is data.
        """
        environ = os.environ
        out, err = sys.stdout.isatty(), sys.stderr.isatty()
        dumb = environ.get("TERM", "") in {"dumb", ""}
        return cls(
            stdin=sys.stdin,
            stdout=sys.stdout,
            stderr=sys.stderr,
            stdin_tty=sys.stdin.isatty(),
            stdout_tty=out,
            stderr_tty=err,
            color=wants_color(color, environ, tty=out, forceable=out),
            color_err=wants_color(color, environ, tty=err, forceable=True),
            dark=is_dark(theme, environ),
            environ=environ,
            attributes=out and not dumb and color != "never",
            cursor=out and not dumb,
        )


def wants_color(wish: ColorWish, environ: Mapping[str, str], *, tty: bool, forceable: bool) -> bool:
    """Return whether a stream gets colours."""
    if wish != "auto":
        return wish == "always"
    if environ.get("NO_COLOR"):
        return False
    forced = (environ.get(name, "") for name in ("FORCE_COLOR", "CLICOLOR_FORCE"))
    if forceable and any(value not in {"", "0"} for value in forced):
        return True
    return tty and environ.get("TERM", "") not in {"dumb", ""}


def is_dark(wish: ThemeWish, environ: Mapping[str, str]) -> bool:
    """Return whether the background is dark: as wished, else as COLORFGBG says, else yes.

    COLORFGBG is "foreground;background" or "foreground;default;background" in ANSI colour
    numbers (rxvt, konsole and others set it); 7 and 9-15 are light.
    """
    if wish != "auto":
        return wish == "dark"
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return background not in {"7", "9", "10", "11", "12", "13", "14", "15"}
