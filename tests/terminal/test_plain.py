"""Plain text: exact in a pipe, visible on a terminal, remarks on stderr."""

import io
import os
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.core.decision import Route, Verdict
from chatcli.core.errors import ChatcliError
from chatcli.core.event import (
    Delta,
    Event,
    Finished,
    Judged,
    Notice,
    Prefilled,
    Retrieved,
    Routed,
    ToolFinished,
    ToolStarted,
)
from chatcli.terminal.env import Env
from chatcli.terminal.plain import write
from chatcli.terminal.theme import Look
from tests.terminal.screen import err, made_turn, memory_env, out, turn_of

LOOK = Look(markdown=False)
ROUTED = Routed(Route(model="scripted", rule="chosen"))


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1)))
def test_a_pipe_gets_exactly_the_reply(pieces: list[str]) -> None:
    """However it is cut, a pipe gets every character, ended with exactly one line feed."""
    env = memory_env(tty=False)
    turn = write(turn_of(pieces), env, LOOK)
    said = "".join(pieces)
    assert turn.reply.text == said
    assert out(env) == (said.rstrip("\n") + "\n" if said else "")
    assert err(env) == ""


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1)))
def test_a_terminal_obeys_nothing(pieces: list[str]) -> None:
    """On a terminal no control character but tab and line feed is passed on."""
    env = memory_env(tty=True)
    write(turn_of(pieces), env, LOOK)
    shown = out(env)
    assert not [
        char for char in shown if (char < " " or "\x7f" <= char < "\xa0") and char not in "\t\n"
    ]


def test_escape_codes_are_shown() -> None:
    """An escape sequence of the model is shown with a stand-in; CR LF over two pieces is LF."""
    env = memory_env(tty=True)
    write(turn_of(["a\x1b[31m", "b\r", "\nc"]), env, LOOK)
    assert out(env) == "a␛[31mb\nc\n"


def test_each_piece_is_shown_at_once() -> None:
    """A piece is on stdout before the next one is asked for."""
    env = memory_env(tty=False)
    seen = []

    def events() -> Iterator[Event]:
        yield ROUTED
        yield Delta("text", "one")
        seen.append(out(env))
        yield Delta("text", " two\n")
        seen.append(out(env))
        yield Finished(made_turn("one two\n"))

    write(events(), env, LOOK)
    assert seen == ["one", "one two"]
    assert out(env) == "one two\n"


def test_reasoning_goes_to_stderr_in_a_pipe() -> None:
    """stdout carries the answer only."""
    env = memory_env(tty=False)
    write(turn_of(["Answer"], ["\n", "Let me", " see.\n"]), env, LOOK)
    assert out(env) == "Answer\n"
    assert err(env) == "Thinking:\nLet me see.\n\n"


def test_reasoning_stands_above_the_answer_on_a_terminal() -> None:
    """On a terminal the reasoning is dim, with a label, above the answer."""
    env = memory_env(tty=True)
    write(turn_of(["Answer"], ["Hm."]), env, LOOK)
    assert out(env) == "\x1b[2mThinking:\x1b[0m\n\x1b[2mHm.\x1b[0m\n\nAnswer\n"
    assert err(env) == ""


def test_hidden_reasoning_leaves_a_passing_note() -> None:
    """With reasoning off a terminal shows that it thinks, and takes the note away."""
    env = memory_env(tty=True)
    write(turn_of(["Answer"], ["Hm."]), env, Look(reasoning=False))
    assert out(env) == "Answer\n"
    assert err(env) == "\r\x1b[K\x1b[2mthinking... 0 s\x1b[0m\r\x1b[K"
    env = memory_env(tty=False)
    write(turn_of(["Answer"], ["Hm."]), env, Look(reasoning=False))
    assert err(env) == ""


def _long_prefill(*after: Event) -> Iterator[Event]:
    yield ROUTED
    yield Prefilled(1, 8000)
    time.sleep(0.31)
    yield Prefilled(1024, 8000)
    yield Prefilled(8000, 8000)
    yield from after
    yield Finished(made_turn("x"))


def test_progress_after_a_while() -> None:
    """A prefill of more than 0.3 s shows one line, which is erased."""
    env = memory_env(tty=False, stderr_tty=True)
    write(_long_prefill(Delta("text", "x")), env, LOOK)
    assert err(env) == "\r\x1b[K\x1b[2mreading 1,024 of 8,000 tokens\x1b[0m\r\x1b[K"
    assert out(env) == "x\n"


@pytest.mark.parametrize(
    ("env", "look"),
    [
        (memory_env(tty=False), LOOK),
        (memory_env(tty=True), Look(quiet=True)),
        (memory_env(tty=True), Look(progress=False)),
    ],
)
def test_no_progress_where_it_does_not_help(env: Env, look: Look) -> None:
    """No terminal, --quiet or no progress: stderr stays empty."""
    write(_long_prefill(), env, look)
    assert err(env) == ""


def test_remarks_are_lines_on_stderr() -> None:
    """Notices, sources, tools and safety rules are one safe line each."""
    verdict = Verdict(where="input", action="warn", rule="secrets", score=1.0)
    fine = Verdict(where="input", action="allow", rule="rude", score=0.0)
    env = memory_env(tty=False)
    events: list[Event] = [
        Judged(verdict),
        Judged(fine),
        ROUTED,
        Retrieved(("a.md", "b.md")),
        Notice("two\nlines\x1b[2J"),
        Delta("text", "Look:"),
        ToolStarted("1", "search"),
        ToolFinished("1", failed=True),
        Delta("text", "none"),
        Finished(made_turn("Look:none")),
    ]
    write(iter(events), env, LOOK)
    assert err(env).splitlines() == [
        "safety rule secrets: warn",
        "sources: a.md, b.md",
        "two lines␛[2J",
        "running search",
        "search failed",
    ]
    quiet = memory_env(tty=False)
    write(iter(events), quiet, Look(quiet=True))
    assert err(quiet) == ""


def test_a_remark_waits_for_the_line_to_end() -> None:
    """On one screen a notice in the middle of a reply comes after it."""
    env = memory_env(tty=True)
    shown = io.StringIO()
    env = Env(
        **{name: getattr(env, name) for name in Env.__slots__} | {"stdout": shown, "stderr": shown}
    )
    events: list[Event] = [
        ROUTED,
        Notice("first"),
        Delta("text", "one "),
        Notice("second"),
        Delta("text", "line"),
        Finished(made_turn("one line")),
    ]
    write(iter(events), env, LOOK)
    assert shown.getvalue() == "\x1b[2mfirst\x1b[0m\none line\n\x1b[2msecond\x1b[0m\n"


def test_an_error_finds_the_line_ended() -> None:
    """When the turn fails half-way, the shown part is ended and the error goes on."""

    def events() -> Iterator[Event]:
        yield ROUTED
        yield Delta("text", "half")
        raise ChatcliError("the engine died")

    env = memory_env(tty=True)
    with pytest.raises(ChatcliError, match="engine died"):
        write(events(), env, LOOK)
    assert out(env) == "half\n"


def test_a_closed_pipe_is_the_callers_business() -> None:
    """BrokenPipeError comes through."""
    read, sink = os.pipe()
    os.close(read)
    stream = os.fdopen(sink, "w", encoding="utf-8")
    env = memory_env(tty=False)
    env = Env(**{name: getattr(env, name) for name in Env.__slots__} | {"stdout": stream})
    with pytest.raises(BrokenPipeError):
        write(turn_of(["hello"]), env, LOOK)
    with pytest.raises(BrokenPipeError):
        stream.close()


def test_a_narrow_encoding_does_not_fail() -> None:
    """What an ASCII stream cannot say becomes a question mark."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    env = memory_env(tty=False)
    env = Env(**{name: getattr(env, name) for name in Env.__slots__} | {"stdout": stream})
    write(turn_of(["naïve 日本"]), env, LOOK)
    assert raw.getvalue() == b"na?ve ??\n"
