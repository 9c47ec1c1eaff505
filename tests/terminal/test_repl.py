"""The two loops: lines from a pipe, and a prompt."""

import io
import os
import signal
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

from chatcli import paths
from chatcli.terminal.chat import Chat
from chatcli.terminal.repl import run_lines, run_prompt
from chatcli.testing import ScriptedEngine
from tests.terminal.conftest import Make, OneBroken, Table, memory_env

# -- from a pipe -------------------------------------------------------------------------


def _run(table: Table, stdin: str) -> tuple[int, str, str]:
    chat = table.chat
    chat.env = memory_env(stdin)
    code = run_lines(chat)
    assert isinstance(chat.env.stdout, io.StringIO)
    assert isinstance(chat.env.stderr, io.StringIO)
    return code, chat.env.stdout.getvalue(), chat.env.stderr.getvalue()


def _signal_in_reply(engine: ScriptedEngine, number: int) -> bool:
    """Send ourselves a signal a moment after the reply has begun."""
    until = time.monotonic() + 15
    while not engine.prompts and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(os.getpid(), number)
    return True


def test_each_line_is_a_message(table: Make) -> None:
    """Only the answers stand on stdout; an empty line is none."""
    code, out, err = _run(table(interactive=False), "one\n\ntwo")
    assert (code, out, err) == (0, "You said: one\nYou said: two\n", "")


def test_commands_and_blocks_work_in_a_pipe(table: Make) -> None:
    """What follows /bye is not read as a message."""
    chat = table(interactive=False)
    code, out, _ = _run(chat, '"""a\nb"""\n/tokens x y\n/edit 1\nc\n/bye\nnever\n')
    assert code == 0
    assert out == "You said: a b\n2 tokens\nYou said: c\n"
    assert [turn.asked[0].text for turn in chat.chat.conversation.path()] == ["c"]
    assert chat.chat.conversation.turns()[0].asked[0].text == "a\nb"


def test_a_block_that_is_not_closed_is_sent_at_the_end(table: Make) -> None:
    """Nothing that came is lost."""
    assert _run(table(interactive=False), '"""a\nb\n')[1] == "You said: a b\n"


def test_an_error_is_told_and_the_rest_is_done(table: Make) -> None:
    """The exit code remembers it."""
    engine = ScriptedEngine(context=12)
    code, out, err = _run(table(interactive=False, engine=engine), f"{'w ' * 30}\n/nope\nok\n")
    assert code == 1
    assert out == "You said: ok\n"
    assert err.count("chatcli: ") == 2


def test_a_model_that_cannot_be_loaded_fails_each_message(table: Make) -> None:
    """Quietly on stdout."""
    chat = table(interactive=False, engine=OneBroken())
    chat.chat.conversation.start(model="broken")
    assert _run(chat, "a\nb\n")[:2] == (1, "")


def test_stdin_that_is_not_text_is_an_error(table: Make) -> None:
    """It says how to convert."""
    chat = table(interactive=False).chat
    stdin = io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), encoding="utf-8")
    chat.env = replace(memory_env(), stdin=stdin)
    assert run_lines(chat) == 1
    assert isinstance(chat.env.stderr, io.StringIO)
    assert "not UTF-8" in chat.env.stderr.getvalue()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_a_reply_keeps_the_part_and_ends(table: Make, number: signal.Signals) -> None:
    """The code is 128 + its number; the messages after it are not asked."""
    engine = ScriptedEngine([["word "] * 1000, ["never"]], pause_s=0.01)
    chat = table(interactive=False, engine=engine)
    thread = threading.Thread(target=_signal_in_reply, args=(engine, number))
    thread.start()
    code, out, err = _run(chat, "one\ntwo\n")
    thread.join()
    turn = chat.chat.conversation.current()
    assert code == 128 + number
    assert turn.finish == "cancelled"
    assert turn.reply.text.strip() == out.strip() != ""
    assert len(chat.chat.conversation.turns()) == 1
    assert err == ""


# -- at a prompt -------------------------------------------------------------------------


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[PipeInput]:
    """The keys of the prompt."""
    monkeypatch.setenv("TERM", "xterm")
    with create_pipe_input() as keys, create_app_session(keys, DummyOutput()):
        yield keys


def _terminal(chat: Chat) -> None:
    chat.env = replace(memory_env(), stdout_tty=True, stderr_tty=True)


def _prompt(
    table: Table, keyboard: PipeInput, *steps: str | Callable[[], object]
) -> tuple[int, str]:
    """Send keys step by step, waiting for a condition where a step is one."""
    _terminal(table.chat)

    def send() -> None:
        for step in steps:
            if isinstance(step, str):
                time.sleep(0.05)
                keyboard.send_text(step)
            else:
                until = time.monotonic() + 15
                while not step() and time.monotonic() < until:
                    time.sleep(0.01)

    thread = threading.Thread(target=send)
    thread.start()
    code = run_prompt(table.chat)
    thread.join()
    assert isinstance(table.chat.env.stderr, io.StringIO)
    return code, table.chat.env.stderr.getvalue()


def _asked(table: Table, n: int) -> Callable[[], bool]:
    """Return whether `n` turns have ended."""
    return lambda: sum(map(len, table.store.trees.values())) >= n


def test_a_chat_at_the_prompt(table: Make, keyboard: PipeInput) -> None:
    """Ask, and leave with Ctrl-D."""
    chat = table([["one"]])
    code, err = _prompt(chat, keyboard, "hello\r", _asked(chat, 1), "\x04")
    assert (code, err) == (0, "")
    assert [turn.reply.text for turn in chat.chat.conversation.path()] == ["one"]


def test_keys_typed_ahead_wait_for_the_prompt(table: Make, keyboard: PipeInput) -> None:
    """In their order, each line a message of its own."""
    chat = table([["one"], ["two"]])
    code, _ = _prompt(chat, keyboard, "a\rb\r/bye\r")
    assert code == 0
    assert [turn.asked[0].text for turn in chat.chat.conversation.path()] == ["a", "b"]


def test_ctrl_c_in_a_reply_keeps_the_part_and_returns(table: Make, keyboard: PipeInput) -> None:
    """The next question follows it."""
    engine = ScriptedEngine([["word "] * 1000, ["two"]], pause_s=0.01)
    chat = table(engine=engine)
    code, err = _prompt(
        chat, keyboard, "a\r", lambda: _signal_in_reply(engine, signal.SIGINT),
        _asked(chat, 1), "b\r", _asked(chat, 2), "\x04",
    )  # fmt: skip
    path = chat.chat.conversation.path()
    assert code == 0
    assert [turn.finish for turn in path] == ["cancelled", "stop"]
    assert path[0].reply.text.startswith("word word")
    assert "Stopped; the part shown is kept" in err


def test_an_edit_at_the_prompt(table: Make, keyboard: PipeInput) -> None:
    """The old text is there to be changed; Ctrl-C leaves it as it was."""
    chat = table()
    _prompt(
        chat, keyboard, "hello\r", _asked(chat, 1), "/edit\r", lambda: chat.chat.editing, " you\r",
        _asked(chat, 2), "/edit\r", lambda: chat.chat.editing, "\x03",
        lambda: chat.chat.editing is None, "more\r", _asked(chat, 3), "\x04",
    )  # fmt: skip
    turns = chat.chat.conversation.turns()
    assert [turn.asked[0].text for turn in turns] == ["hello", "hello you", "more"]
    assert turns[2].parent == turns[1].id


def test_history_is_off_for_a_chat_that_is_not_kept(table: Make, keyboard: PipeInput) -> None:
    """And on otherwise."""
    chat = table()
    chat.chat.kept = False
    _prompt(chat, keyboard, "/list\r/bye\r")
    assert not paths.history_file().exists()
    kept = table()
    _prompt(kept, keyboard, "/list\r/bye\r")
    assert "+/list" in paths.history_file().read_text()


def test_history_can_be_turned_off(table: Make, keyboard: PipeInput, tmp_path: Path) -> None:
    """By the setting, and in the middle of a chat."""
    chat = table()
    _prompt(chat, keyboard, "/set history off\r/list secret\r/bye\r")
    assert "secret" not in paths.history_file().read_text()


def test_a_model_that_fails_leaves_the_prompt_open(table: Make, keyboard: PipeInput) -> None:
    """The error comes with its remedy, /model mends it."""
    chat = table(engine=OneBroken())
    chat.chat.conversation.start(model="broken")
    chat.chat.loading.start("broken")
    code, err = _prompt(chat, keyboard, "hello\r/model other\rhello\r", _asked(chat, 1), "\x04")
    assert code == 0
    assert "broken cannot be loaded. Choose another" in err
    assert chat.chat.conversation.current().reply.text == "You said: hello"


def test_sigterm_at_the_prompt_ends_the_chat(table: Make, keyboard: PipeInput) -> None:
    """With its code."""
    chat = table()
    chat.chat.models = lambda: (shown.append(1), ["scripted"])[1]  # type: ignore[func-returns-value]  # asked by Tab
    shown: list[int] = []

    def end() -> bool:
        os.kill(os.getpid(), signal.SIGTERM)
        return True

    assert _prompt(chat, keyboard, "/model \t", lambda: shown, end)[0] == 143
