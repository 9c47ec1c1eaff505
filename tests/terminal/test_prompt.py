"""The prompt line, driven by key bytes through prompt_toolkit's own pipe input."""

import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.base import PipeInput
from prompt_toolkit.output import DummyOutput

from chatcli.settings import TerminalSettings
from chatcli.terminal.command import KNOWN
from chatcli.terminal.complete import Sources
from chatcli.terminal.history import LineHistory
from chatcli.terminal.keys import Cleared, Signalled
from chatcli.terminal.prompt import Line

ENTER = "\r"
CTRL_C = "\x03"
CTRL_D = "\x04"
CTRL_G = "\x07"
CTRL_J = "\n"
CTRL_R = "\x12"
ALT_ENTER = "\x1b\r"
UP = "\x1b[A"
TAB = "\t"
PASTE = "\x1b[200~{}\x1b[201~"

SETTLED_S = 0.05
"""Between groups of keys, so that they are not read as one."""


class Desk:
    """A prompt line and the keyboard in front of it."""

    def __init__(self, keyboard: PipeInput, history: Path | None) -> None:
        self.keyboard = keyboard
        self.settings = TerminalSettings()
        self.history = LineHistory(history)
        self.line = Line(
            sources=Sources(
                commands=KNOWN,
                models=lambda: ["smollm2:135m"],
                sessions=list,
                turns=list,
                keys=lambda: ["temperature"],
            ),
            status=lambda width: "status"[:width],
            settings=lambda: self.settings,
            history=self.history,
            color=False,
        )

    def type(self, *keys: str, prefill: str = "", editing: bool = False) -> str:
        """Send each group of keys after a pause; return what the prompt gave."""

        def send() -> None:
            for group in keys:
                time.sleep(SETTLED_S)
                self.keyboard.send_text(group)

        thread = threading.Thread(target=send)
        thread.start()
        try:
            return self.line.read(prefill, editing=editing)
        finally:
            thread.join()


MakeDesk = Callable[[], Desk]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeDesk]:
    """Return a function that makes a desk; all of them share one history file."""
    monkeypatch.setenv("TERM", "xterm")
    with create_pipe_input() as keyboard, create_app_session(keyboard, DummyOutput()):
        yield lambda: Desk(keyboard, tmp_path / "state" / "history")


def _until(condition: Callable[[], bool]) -> None:
    """Wait for a condition; a test that waits in vain then fails by what it sees."""
    until = time.monotonic() + 15
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)


def editor(tmp_path: Path, body: str) -> str:
    """Return the command line of an editor that runs `body` on the file `path`."""
    script = tmp_path / "editor.py"
    script.write_text(
        f"import sys, pathlib\npath = pathlib.Path(sys.argv[1])\ntext = path.read_text()\n{body}\n"
    )
    return f"{sys.executable} {script}"


def test_enter_sends(desk: MakeDesk) -> None:
    """The text comes as it was typed."""
    assert desk().type("hello" + ENTER) == "hello"


def test_several_lines(desk: MakeDesk) -> None:
    """Ctrl-J and Alt-Enter begin a new line."""
    assert desk().type("a", CTRL_J, "b", ALT_ENTER, "c" + ENTER) == "a\nb\nc"


def test_a_block_is_sent_when_its_marks_are_closed(desk: MakeDesk) -> None:
    """Enter inside it begins a new line."""
    text = '"""one' + ENTER + "two" + ENTER + '"""' + ENTER
    assert desk().type(text) == '"""one\ntwo\n"""'


def test_a_bracketed_paste_is_taken_as_it_is(desk: MakeDesk) -> None:
    """Its line ends do not send, its slashes are text, its control bytes do nothing."""
    pasted = PASTE.format("one\r\n/two\tx\rthree")
    assert desk().type(pasted, ENTER) == "one\n/two\tx\nthree"


def test_typed_ahead_of_the_first_prompt_enter_still_sends(desk: MakeDesk) -> None:
    """The terminal has turned that Enter into a line feed."""
    place = desk()
    place.keyboard.send_text("early\nlater\n")
    assert place.line.read() == "early"
    assert place.line.read() == "later"
    assert place.type("a", CTRL_J, "b", ENTER) == "a\nb"


def test_ctrl_c_clears_the_line(desk: MakeDesk) -> None:
    """What is typed afterwards stands alone; on an empty line there is a hint."""
    place = desk()
    assert place.type("wrong", CTRL_C, "right" + ENTER) == "right"
    seen: list[str] = []
    place.line._session.app.after_render += lambda _: seen.append(place.line._keys.tip)
    assert place.type(CTRL_C, "x", ENTER) == "x"
    assert "Ctrl-D or /bye leaves" in seen
    assert seen[-1] == ""


def test_sigint_is_ctrl_c(desk: MakeDesk) -> None:
    """A signal from outside clears the line too."""
    place = desk()
    buffer = place.line._session.default_buffer

    def interrupt() -> None:
        _until(lambda: buffer.text == "wrong")
        os.kill(os.getpid(), signal.SIGINT)
        _until(lambda: buffer.text == "")
        place.keyboard.send_text("right" + ENTER)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert place.type("wrong") == "right"
    thread.join()


def test_ctrl_c_gives_up_an_edit(desk: MakeDesk) -> None:
    """The prefilled question can be sent, or left as it was."""
    place = desk()
    assert place.type("!" + ENTER, prefill="old", editing=True) == "old!"
    with pytest.raises(Cleared):
        place.type(CTRL_C, prefill="old", editing=True)


def test_ctrl_d_leaves_on_an_empty_line_only(desk: MakeDesk) -> None:
    """In a line it deletes a character, as in a shell."""
    place = desk()
    with pytest.raises(EOFError):
        place.type(CTRL_D)
    assert place.type("ab\x01" + CTRL_D + ENTER) == "b"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_prompt_by_its_door(desk: MakeDesk, number: signal.Signals) -> None:
    """The code is 128 + number, and the handler that was there is put back."""
    before = signal.getsignal(number)
    place = desk()
    buffer = place.line._session.default_buffer

    def end() -> None:
        _until(lambda: buffer.text == "unsent")
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=end)
    thread.start()
    with pytest.raises(Signalled) as raised:
        place.type("unsent")
    thread.join()
    assert raised.value.code == 128 + number
    assert signal.getsignal(number) == before


def test_ctrl_g_opens_the_editor(
    desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text goes there and comes back, without the editor's last line feed."""
    monkeypatch.setenv("VISUAL", editor(tmp_path, "path.write_text(text.upper() + '\\nmore\\n')"))
    place = desk()
    thread = threading.Thread(target=lambda: _when_back(place, "MORE"))
    thread.start()
    assert place.type("hello", CTRL_G) == "HELLO\nmore"
    thread.join()


def _when_back(place: Desk, word: str) -> None:
    _until(lambda: word in place.line._session.default_buffer.text.upper())
    place.keyboard.send_text(ENTER)


def test_an_editor_that_fails_leaves_the_text(
    desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason stands in the status line; a setting wins over the environment."""
    monkeypatch.setenv("VISUAL", "true")
    place = desk()
    place.settings = replace(place.settings, editor=editor(tmp_path, "sys.exit(3)"))

    def when_told() -> None:
        _until(lambda: "status 3" in place.line._keys.tip)
        place.keyboard.send_text(ENTER)

    thread = threading.Thread(target=when_told)
    thread.start()
    assert place.type("hello", CTRL_G) == "hello"
    thread.join()
    assert "ended with status 3" in place.line._keys.tip


def test_without_an_editor_it_says_how_to_get_one(
    desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost."""
    monkeypatch.setenv("VISUAL", "no-such-editor")
    place = desk()
    assert place.type("hello", CTRL_G, ENTER) == "hello"
    assert "no-such-editor" in place.line._keys.tip


def test_history_lives_on_in_a_private_file(desk: MakeDesk, tmp_path: Path) -> None:
    """Up and Ctrl-R find lines of an earlier run; lines with a space in front are not kept."""
    place = desk()
    place.type("first question" + ENTER)
    place.type('"""two' + ENTER + 'lines"""' + ENTER)
    place.type(" secret" + ENTER)
    file = tmp_path / "state" / "history"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "secret" not in file.read_text()
    later = desk()
    assert later.type(UP, ENTER) == '"""two\nlines"""'
    assert later.type(UP, UP + ENTER) in {"first question", '"""two\nlines"""'}
    assert desk().type(CTRL_R + "first", ENTER, ENTER) == "first question"


def test_tab_completes_commands_and_their_arguments(desk: MakeDesk) -> None:
    """A taken choice is not sent by the same Enter."""
    assert desk().type("/contex", TAB, ENTER, ENTER) == "/context"
    assert desk().type("/model smo", TAB, ENTER, ENTER) == "/model smollm2:135m"


def test_the_menu_takes_no_room_under_a_message(desk: MakeDesk) -> None:
    """It comes by itself only for commands."""
    place = desk()
    heights: list[int] = []
    window = place.line._session._get_default_buffer_control_height

    def look(_: object) -> None:
        heights.append(window().min)

    place.line._session.app.after_render += look
    place.type("hello", ENTER)
    assert set(heights) == {0}


def test_vi_keys(desk: MakeDesk) -> None:
    """The setting is read at each prompt."""
    place = desk()
    place.settings = replace(place.settings, editing="vi")
    assert place.type("hello", "\x1b", "0x", ENTER) == "ello"
    place.settings = replace(place.settings, editing="emacs")
    assert place.type("hello\x01x" + ENTER) == "xhello"
