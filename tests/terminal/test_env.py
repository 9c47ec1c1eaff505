"""What the surroundings say about colour, background and width."""

import io
import os
import pty
import termios

import pytest

from chatcli.terminal.env import ColorWish, Env, is_dark, terminal_size, wants_color

XTERM = {"TERM": "xterm-256color"}


@pytest.mark.parametrize(
    ("wish", "environ", "tty", "colored"),
    [
        ("auto", XTERM, True, True),
        ("auto", XTERM, False, False),
        ("auto", {**XTERM, "NO_COLOR": "1"}, True, False),
        ("auto", {**XTERM, "NO_COLOR": ""}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {}, True, False),
        ("auto", {**XTERM, "FORCE_COLOR": "1"}, False, True),
        ("auto", {**XTERM, "CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {**XTERM, "FORCE_COLOR": "0"}, False, False),
        ("auto", {**XTERM, "FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, False, True),
        ("never", {**XTERM, "FORCE_COLOR": "1"}, True, False),
    ],
)
def test_wants_color(wish: ColorWish, environ: dict[str, str], tty: bool, colored: bool) -> None:
    """The flag wins, then NO_COLOR, then the forcing variables, then the terminal."""
    assert wants_color(wish, environ, tty=tty, forceable=True) is colored


def test_a_reply_in_a_pipe_is_not_forced() -> None:
    """FORCE_COLOR does not put escape codes into a pipe's data; --color always does."""
    environ = {**XTERM, "FORCE_COLOR": "1"}
    assert wants_color("auto", environ, tty=False, forceable=False) is False
    assert wants_color("always", environ, tty=False, forceable=False) is True


@pytest.mark.parametrize(
    ("value", "dark"),
    [("15;0", True), ("0;15", False), ("0;default;7", False), ("15;8", True), ("", True)],
)
def test_background(value: str, dark: bool) -> None:
    """COLORFGBG names the background; without it, it is taken for dark."""
    assert is_dark("auto", {"COLORFGBG": value}) is dark
    assert is_dark("light", {"COLORFGBG": value}) is False
    assert is_dark("dark", {"COLORFGBG": value}) is True


def test_width_follows_the_terminal() -> None:
    """The width is asked anew at each use; a pty of size 0 and a pipe count as 80."""
    main, child = pty.openpty()
    with os.fdopen(main, "w"), os.fdopen(child, "w") as stream:
        assert terminal_size(stream) == (80, 24)
        termios.tcsetwinsize(child, (30, 100))
        assert terminal_size(io.StringIO(), stream) == (100, 30)
        termios.tcsetwinsize(child, (10, 33))
        assert terminal_size(stream) == (33, 10)


def test_current_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal there is no colour and no cursor."""
    monkeypatch.setattr("sys.stdout", io.StringIO())
    monkeypatch.setattr("sys.stderr", io.StringIO())
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("CLICOLOR_FORCE", raising=False)
    env = Env.current(theme="light")
    assert (env.stdout_tty, env.color, env.color_err, env.cursor) == (False,) * 4
    assert (env.width, env.height, env.theme) == (80, 24, "light")


def test_current_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal NO_COLOR takes the colours and leaves bold; `never` takes both."""
    main, child = pty.openpty()
    with os.fdopen(main, "w"), os.fdopen(child, "w") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.delenv("FORCE_COLOR", raising=False)
        monkeypatch.delenv("NO_COLOR", raising=False)
        assert Env.current().color
        monkeypatch.setenv("NO_COLOR", "1")
        env = Env.current()
        assert (env.color, env.attributes, env.cursor) == (False, True, True)
        assert not Env.current("never").attributes
        monkeypatch.setenv("TERM", "dumb")
        assert not Env.current().cursor
