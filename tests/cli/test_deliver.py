"""From events to streams, also where a stream fails."""

import io
from collections.abc import Iterator
from dataclasses import replace

import pytest

from chatcli.cli.deliver import aside, show_or_drain, whole
from chatcli.core.cancel import Cancel
from chatcli.core.event import Delta, Event, Finished, Notice
from chatcli.core.message import user
from chatcli.terminal.env import Env
from chatcli.terminal.theme import Look
from tests.cli.given import Program

PIECES = [("reasoning", "h"), ("reasoning", "m"), "a ", "b ", "c"]


class _Gone(io.StringIO):
    """A stream whose reader goes away after the first write."""

    def write(self, text: str) -> int:
        if self.getvalue():
            raise BrokenPipeError
        return super().write(text)


def _env(stdout: io.StringIO) -> Env:
    return Env(
        stdin=io.StringIO(),
        stdout=stdout,
        stderr=io.StringIO(),
        stdin_tty=False,
        stdout_tty=False,
        stderr_tty=False,
        color=False,
        color_err=False,
        dark=True,
        environ={},
    )


def _events(cancel: Cancel) -> tuple[Program, Iterator[Event]]:
    program = Program()
    program.engine._replies.append(PIECES)  # type: ignore[arg-type]  # as the constructor takes it
    from chatcli.app import App
    from chatcli.settings import Settings

    conversation = App(Settings(), engines=program.engine, store=program.store).conversation()
    conversation.start(model="m", kind="ask")
    return program, conversation.ask(user("q"), cancel)


def test_a_reader_that_goes_away_leaves_a_recorded_turn() -> None:
    """The turn ends by its own door, cancelled, with what had been made; then the error."""
    cancel = Cancel()
    program, events = _events(cancel)
    with pytest.raises(BrokenPipeError):
        show_or_drain(events, cancel, _env(_Gone()), Look())
    (turn,) = program.store.turns(program.store.sessions()[0].id)
    assert (turn.finish, turn.reply.text) == ("cancelled", "a b ")


def test_held_back_the_reply_comes_in_one_piece_of_each_kind() -> None:
    """Everything else keeps its place; nothing gets lost."""
    _, events = _events(Cancel())
    seen = list(whole(iter([Notice("n"), *events])))
    deltas = [event for event in seen if isinstance(event, Delta)]
    assert deltas == [Delta("reasoning", "hm"), Delta("text", "a b c")]
    assert isinstance(seen[0], Notice)
    assert isinstance(seen[-1], Finished)


def test_aside_writes_nothing_to_stdout() -> None:
    """Only what belongs on stderr is shown."""
    _, events = _events(Cancel())
    env = replace(_env(out := io.StringIO()), stderr=(err := io.StringIO()))
    turn = aside(events, env, Look())
    assert (turn.reply.text, out.getvalue()) == ("a b c", "")
    assert "hm" in err.getvalue()
