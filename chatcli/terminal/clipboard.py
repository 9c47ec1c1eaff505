"""Text to the clipboard: by a program if one is there, and by OSC 52 through the terminal."""

import base64
import shutil
import subprocess
from collections.abc import Mapping

from chatcli.core.errors import ChatcliError
from chatcli.terminal.env import Env

_OSC_52_MAX_BYTES = 74_994
"""Longest text that terminals are known to take (xterm's limit, after base64 100,000)."""

_TIMEOUT_S = 3.0

# The variable that must be set for the program to have a display to talk to.
_PROGRAMS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("wl-copy", "WAYLAND_DISPLAY", ()),
    ("xclip", "DISPLAY", ("-selection", "clipboard")),
    ("xsel", "DISPLAY", ("--clipboard", "--input")),
    ("pbcopy", "", ()),
    ("clip.exe", "WSL_DISTRO_NAME", ()),
)


def _program(environ: Mapping[str, str]) -> list[str] | None:
    for name, needs, arguments in _PROGRAMS:
        if (not needs or environ.get(needs)) and (
            found := shutil.which(name, path=environ.get("PATH"))
        ):
            return [found, *arguments]
    return None


def _run(command: list[str], text: str) -> bool:
    try:
        # No pipes to read: xclip stays behind as a server and would keep them open.
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def copy(text: str, env: Env) -> str:
    """Copy `text`; return how, in words: "wl-copy" or "the terminal (OSC 52)".

    Raises:
        ChatcliError: there is no way from here.
    """
    command = _program(env.environ)
    if command is not None and _run(command, text):
        return command[0].rpartition("/")[2]
    data = text.encode("utf-8", "replace")
    if not env.cursor:
        raise ChatcliError(
            "there is no clipboard to copy to", "Install wl-copy or xclip, or use /export"
        )
    if len(data) > _OSC_52_MAX_BYTES:
        raise ChatcliError(
            f"{len(data):,} bytes are more than a terminal's clipboard takes",
            "Install wl-copy or xclip, or use /export",
        )
    env.stdout.write(_osc_52(data, inside_tmux="TMUX" in env.environ))
    env.stdout.flush()
    return "the terminal (OSC 52), if it allows that"


def _osc_52(data: bytes, *, inside_tmux: bool) -> str:
    sequence = f"\x1b]52;c;{base64.b64encode(data).decode()}\a"
    # tmux passes on what is wrapped, with each escape doubled; with `set-clipboard on` it
    # also takes the bare sequence, so it is given both.
    wrapped = sequence.replace("\x1b", "\x1b\x1b")
    return f"{sequence}\x1bPtmux;{wrapped}\x1b\\" if inside_tmux else sequence
