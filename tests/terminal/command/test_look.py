"""Counts, and the promise that nothing shown is obeyed."""

import threading

from chatcli.terminal.repl import feed
from chatcli.testing import ScriptedEngine
from tests.terminal.conftest import Make


def test_tokens_counts_a_text_or_the_chat(table: Make) -> None:
    """A word is a token here."""
    chat = table()
    assert chat("/tokens one two three") == "3 tokens\n"
    assert "of 4,096 tokens" in chat("/tokens")


def test_context_and_stats_count_the_turns(table: Make) -> None:
    """Both turns are listed; the reused tokens are those of the first."""
    chat = table([["one"], ["two", " three"]])
    chat("first")
    chat("second")
    lines = chat("/context").splitlines()
    assert "of 4,096 tokens" in lines[0]
    assert [line.split()[-1] for line in lines[-2:]] == ["first", "second"]
    stats = chat("/stats")
    assert "2 turns" in stats
    first, second = (turn.usage for turn in chat.chat.conversation.path())
    assert second.reused_memory == first.prompt + first.completion
    assert f"{second.reused_memory:,}" in stats


def test_nothing_a_model_said_is_obeyed_by_the_terminal(table: Make) -> None:
    """Titles, questions and names are made visible."""
    chat = table([["\x1b[2J"]])
    chat("\x1b]0;evil\x07 hi")
    for line in ("/list", "/tree", "/context", "/show", "/search hi", "/undo"):
        out, err = chat.both(line)
        assert "\x1b" not in out + err


def test_a_slow_model_does_not_hold_the_prompt(table: Make) -> None:
    """Commands that need no model answer while it is being loaded."""

    may_load = threading.Event()

    class Slow(ScriptedEngine):
        def engine(self, model: str) -> ScriptedEngine:
            may_load.wait(30)
            return super().engine(model)

    chat = table(engine=Slow())
    chat.chat.loading.start("scripted")
    feed(chat.chat, "/list")
    assert chat.chat.loading.loading("scripted")
    may_load.set()
    assert chat("hello") == "You said: hello\n"
