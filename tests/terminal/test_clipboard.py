"""The clipboard: by a program, else through the terminal."""

import base64
import io
from dataclasses import replace
from pathlib import Path

import pytest

from chatcli.core.errors import ChatcliError
from chatcli.terminal.clipboard import copy
from chatcli.terminal.env import Env
from tests.terminal.conftest import memory_env


def _terminal(**environ: str) -> Env:
    return replace(memory_env("", environ), stdout_tty=True, cursor=True)


def _written(env: Env) -> str:
    assert isinstance(env.stdout, io.StringIO)
    return env.stdout.getvalue()


def test_a_terminal_is_asked_by_osc_52() -> None:
    """The text goes as base64, so nothing in it can be obeyed."""
    env = _terminal(PATH="/nowhere")
    assert copy("caf\u00e9\x1b", env) == "the terminal (OSC 52), if it allows that"
    data = base64.b64encode("caf\u00e9\x1b".encode()).decode()
    assert _written(env) == f"\x1b]52;c;{data}\a"


def test_tmux_is_asked_to_pass_it_on() -> None:
    """Bare and wrapped, with the escapes of the wrapped one doubled."""
    env = _terminal(PATH="/nowhere", TMUX="/tmp/tmux")
    copy("a", env)
    assert _written(env) == "\x1b]52;c;YQ==\a\x1bPtmux;\x1b\x1b]52;c;YQ==\a\x1b\\"


def test_a_program_that_fails_is_not_believed(tmp_path: Path) -> None:
    """The terminal is asked then."""
    program = tmp_path / "xclip"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    env = _terminal(PATH=f"{tmp_path}:/bin", DISPLAY=":0")
    assert "OSC 52" in copy("a", env)
    assert _written(env) != ""


def test_too_long_for_a_terminal_is_an_error() -> None:
    """It says how long, and what else to do."""
    with pytest.raises(ChatcliError, match="80,000 bytes are more than"):
        copy("x" * 80_000, _terminal(PATH="/nowhere"))
