"""The chat in a real pseudo-terminal: what the screen shows is what is tested."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chatcli.core.session import Turn
from chatcli.sessions.sqlite import SqliteStore
from tests.e2e.terminal import Terminal

ROOT = Path(__file__).parents[2]
SLOW = {"PAUSE_S": "0.02"}
CTRL_C, CTRL_D, CTRL_Z = "\x03", "\x04", "\x1a"

Start = Callable[..., Terminal]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment of its own under tmp_path."""
    base = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    xdg = {f"XDG_{n}_HOME": str(tmp_path / n.lower()) for n in ("CONFIG", "DATA", "CACHE", "STATE")}
    return {
        **base,
        **xdg,
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
        "VISUAL": "true",
    }


@pytest.fixture
def start(environ: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts the program; what is left of it is ended."""
    started: list[Terminal] = []
    script = str(ROOT / "tests" / "e2e" / "scripted_chat.py")

    def begin(*arguments: str, wait: bool = True, **more: str) -> Terminal:
        argv = [sys.executable, script, *(arguments or ("chat",))]
        terminal = Terminal(argv, {**environ, **more}, tmp_path)
        started.append(terminal)
        if wait:
            terminal.wait(terminal.at_prompt)
        return terminal

    yield begin
    for terminal in started:
        terminal.child.close(force=True)


def kept(tmp_path: Path) -> list[Turn]:
    """Return all turns in the store."""
    with SqliteStore(tmp_path / "data" / "chatcli" / "sessions.db") as store:
        return [turn for session in store.sessions() for turn in store.turns(session.id)]


def asked(turns: list[Turn]) -> list[str]:
    """Return the questions."""
    return [turn.asked[0].text for turn in turns]


def test_a_short_chat(start: Start, tmp_path: Path) -> None:
    """Two lines of greeting, a question, its reply, a status line at the bottom; Ctrl-D."""
    terminal = start()
    assert terminal.lines[0] == "scripted"
    assert terminal.lines[1].startswith("/help lists the commands")
    assert terminal.lines[2] == ">"
    terminal.send("hello there\r")
    terminal.wait("You said: hello there")
    terminal.wait(terminal.at_prompt)
    assert terminal.lines[2:6] == ["> hello there", "You said: hello there", "", ">"]
    terminal.wait("reused")
    assert "tokens" in terminal.lines[-1]
    terminal.send(CTRL_D)
    assert terminal.end() == 0
    assert "Traceback" not in terminal.text
    assert terminal.lines[-1] == ""
    assert asked(kept(tmp_path)) == ["hello there"]


def test_ctrl_c_in_a_reply_keeps_the_part(start: Start, tmp_path: Path) -> None:
    """The prompt is back, the part is in the store, and the chat goes on."""
    terminal = start(**SLOW)
    terminal.send("a long one please\r")
    terminal.wait("word20 ")
    terminal.send(CTRL_C)
    terminal.wait("Stopped; the part shown is kept")
    terminal.wait(terminal.at_prompt)
    assert "^C" not in terminal.text
    terminal.send("next\r")
    terminal.wait("You said: next")
    terminal.send(CTRL_D)
    assert terminal.end() == 0
    first, second = kept(tmp_path)
    assert first.finish == "cancelled"
    assert first.reply.text.startswith("word0 word1 ")
    assert len(first.reply.text.split()) < 500
    assert second.parent == first.id


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_in_a_reply_keeps_the_part_and_ends(
    start: Start, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """The exit code names the signal."""
    terminal = start(**SLOW)
    terminal.send("a long one please\r")
    terminal.wait("word20 ")
    terminal.kill(number)
    assert terminal.end() == code
    (turn,) = kept(tmp_path)
    assert turn.finish == "cancelled"
    assert "word20" in turn.reply.text
    assert "Traceback" not in terminal.text


def test_a_terminal_that_goes_away_keeps_the_part(start: Start, tmp_path: Path) -> None:
    """The window is closed in mid-reply."""
    terminal = start(**SLOW)
    terminal.send("a long one please\r")
    terminal.wait("word20 ")
    terminal.child.close(force=False)
    (turn,) = kept(tmp_path)
    assert turn.finish == "cancelled"
    assert "word20" in turn.reply.text


def test_the_terminal_is_restored(start: Start, environ: dict[str, str], tmp_path: Path) -> None:
    """Echo and line mode are as before: after Ctrl-D, /bye, and SIGTERM at the prompt."""
    script = ROOT / "tests" / "e2e" / "scripted_chat.py"
    command = f"stty -a > before; {sys.executable} {script} chat; echo code $?; stty -a > after"
    for leave in (CTRL_D, "/bye\r", signal.SIGTERM):
        terminal = Terminal(["/bin/sh", "-c", command], environ, tmp_path)
        terminal.wait(terminal.at_prompt)
        if isinstance(leave, str):
            terminal.send(leave)
            code = 0
        else:
            code = 143
            os.kill(_child_of(terminal.pid), leave)
        terminal.wait(f"code {code}")
        terminal.end()
        assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()


def _child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0])


def test_pasted_text_is_not_sent_and_not_obeyed(start: Start, tmp_path: Path) -> None:
    """Line ends and slashes in a bracketed paste are text."""
    terminal = start()
    terminal.send("\x1b[200~first\n/undo is text\nlast\x1b[201~")
    terminal.wait("last")
    assert terminal.lines[2:5] == ["> first", "  /undo is text", "  last"]
    terminal.send("\r")
    terminal.wait("You said:")
    terminal.wait(terminal.at_prompt)
    terminal.send(CTRL_D)
    terminal.end()
    assert asked(kept(tmp_path)) == ["first\n/undo is text\nlast"]


def test_keys_typed_in_a_reply_wait_unseen(start: Start, tmp_path: Path) -> None:
    """They do not land in the reply; the next prompt takes them, Enter included."""
    terminal = start(PAUSE_S="0.2")
    terminal.send("one two three four\r")
    terminal.wait("You said: one")
    terminal.send("typed ahead\rand more")
    terminal.wait("You said: typed ahead")
    terminal.wait("> and more")
    text = terminal.text
    assert "You said: one two three four\n\n> typed ahead\nYou said: typed ahead" in text
    assert text.count("typed ahead") == 2
    terminal.send(CTRL_C + CTRL_D)
    assert terminal.end() == 0
    assert asked(kept(tmp_path)) == ["one two three four", "typed ahead"]


def test_keys_typed_in_a_command_wait_unseen(start: Start, tmp_path: Path) -> None:
    """Here the command waits for a file to be written."""
    os.mkfifo(tmp_path / "fifo")
    terminal = start()
    terminal.send("/read fifo\r")
    terminal.wait(lambda: terminal.cursor == (3, 0))
    terminal.send("unseen")
    time.sleep(0.2)
    assert "unseen" not in terminal.text
    (tmp_path / "fifo").write_text("text")
    terminal.wait("With your next question: fifo")
    terminal.wait("> unseen")
    terminal.send(CTRL_C + CTRL_D)
    assert terminal.end() == 0


def test_ctrl_c_at_the_prompt_clears_and_hints(start: Start) -> None:
    """Nothing is left of the line; the hint stands in the status line until the next key."""
    terminal = start()
    terminal.send("wrong words")
    terminal.wait("> wrong words")
    terminal.send(CTRL_C)
    terminal.wait(terminal.at_prompt)
    assert "wrong" not in terminal.text
    terminal.send(CTRL_C)
    terminal.wait("Ctrl-D or /bye leaves")
    terminal.send("x")
    terminal.wait("Ctrl-D or /bye leaves", gone=True)
    terminal.send("\x7f" + CTRL_D)
    assert terminal.end() == 0


def test_a_resize_redraws_the_prompt(start: Start) -> None:
    """The line wraps in the new width; the status line is cut to it."""
    terminal = start()
    terminal.send("hello\r")
    terminal.wait("reused")
    terminal.send("x" * 60)
    terminal.wait("x" * 60)
    terminal.resize(40, 20)
    terminal.wait(lambda: "> " + "x" * 38 in terminal.lines)
    assert all(len(line) <= 40 for line in terminal.lines)
    assert terminal.lines[-1].startswith("scripted ")
    terminal.resize(100, 30)
    terminal.wait("> " + "x" * 60)
    terminal.send(CTRL_C + CTRL_D)
    assert terminal.end() == 0


def test_the_prompt_is_there_while_the_model_loads(start: Start) -> None:
    """The status line says so; Ctrl-C while waiting returns, Ctrl-D leaves at once."""
    terminal = start(LOAD_S="60")
    terminal.wait("(loading)")
    terminal.send("hello\r")
    terminal.wait("loading scripted ...")
    terminal.send(CTRL_C)
    terminal.wait("the model is still being loaded")
    terminal.wait(terminal.at_prompt)
    assert "loading scripted ..." not in terminal.text
    terminal.send(CTRL_D)
    assert terminal.end() == 0
    assert "Traceback" not in terminal.text


def test_a_model_that_cannot_be_loaded_can_be_changed(start: Start) -> None:
    """The status line tells, the question meets the error, /model mends it."""
    terminal = start("chat", "-m", "broken")
    terminal.wait("(cannot be loaded)")
    terminal.send("hello\r")
    terminal.wait("error: broken cannot be loaded. Choose another model")
    terminal.send("/model good\r")
    terminal.wait("The model is now good")
    terminal.send("hello\r")
    terminal.wait("You said: hello")
    terminal.send(CTRL_D)
    assert terminal.end() == 0


def test_a_chat_is_continued_and_forked_while_it_is_open(start: Start, tmp_path: Path) -> None:
    """-c shows where it stands; a second one is told, and /fork copies."""
    first = start()
    first.send("apples\r")
    first.wait("You said: apples")
    first.wait(first.at_prompt)
    second = start("chat", "-c")
    second.wait("/fork goes on")
    second.send("/fork\r")
    second.wait("This is a copy")
    second.wait("You said: apples")
    second.send("pears\r")
    second.wait("You said: pears")
    second.send(CTRL_D)
    assert second.end() == 0
    first.send(CTRL_D)
    assert first.end() == 0
    third = start("chat", "-c")
    third.wait("2 turns")
    assert "> pears" in third.text
    assert "You said: pears" in third.text
    third.send(CTRL_D)
    third.end()
    assert sorted(asked(kept(tmp_path))) == ["apples", "apples", "pears"]


@pytest.mark.parametrize("shell", [("bash", "--norc"), ("sh",)], ids=lambda shell: shell[0])
def test_ctrl_z_and_back(shell: tuple[str, ...], environ: dict[str, str], tmp_path: Path) -> None:
    """In a reply and at the prompt; the shell's terminal is usable in between.

    bash sees to the terminal itself, a plain sh (dash) does not.
    """
    script = ROOT / "tests" / "e2e" / "scripted_chat.py"
    terminal = Terminal([*shell, "-i"], {**environ, "PS1": "$ ", "PAUSE_S": "0.1"}, tmp_path)
    terminal.wait("$")
    terminal.send(f"{sys.executable} {script} chat\r")
    terminal.wait(terminal.at_prompt)
    terminal.send("one two three four five six seven eight nine ten\r")
    terminal.wait("You said: one")
    terminal.send(CTRL_Z)
    terminal.wait("Stopped")
    terminal.send("echo in the $((1 + 1))nd shell\r")
    terminal.wait("in the 2nd shell")
    terminal.send("fg\r")
    terminal.wait("nine ten")
    terminal.wait(terminal.at_prompt)
    terminal.send(CTRL_Z)
    terminal.wait(lambda: terminal.text.count("Stopped") == 2)
    terminal.send("fg\r")
    terminal.wait(terminal.at_prompt)
    terminal.send("still here\r")
    terminal.wait("You said: still here")
    terminal.send(CTRL_D)
    terminal.wait(lambda: terminal.lines[terminal.cursor[0]].startswith("$"))
    terminal.send("exit\r")
    terminal.end()
    assert asked(kept(tmp_path))[-1] == "still here"
