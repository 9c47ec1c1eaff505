"""The two loops that feed a chat: lines from a prompt, or lines from a pipe."""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from chatcli import paths
from chatcli.core.errors import ChatcliError, InputError
from chatcli.terminal.chat import Chat
from chatcli.terminal.command import KNOWN
from chatcli.terminal.silence import silence
from chatcli.terminal.slash import block_open, parse, run, unquoted
from chatcli.terminal.status import Status, status_line

if TYPE_CHECKING:
    from chatcli.terminal.prompt import Line


def feed(chat: Chat, line: str) -> None:
    """Take one line, or one text of several lines: a command, or a message."""
    if not line.strip():
        return
    try:
        call = parse(line, KNOWN)
        if call is None:
            chat.send(unquoted(line.strip()))
        else:
            run(chat, call, KNOWN)
    except ChatcliError as error:
        chat.fail(error)
    except KeyboardInterrupt:
        # Ctrl-C in a command, most likely while a model is being loaded.
        if not chat.interactive:
            raise
        chat.note("Stopped.")


# -- from a pipe -------------------------------------------------------------------------


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines without their ends; a `\"\"\"` block is one."""
    held = ""
    for line in lines:
        held += line.rstrip("\r\n")
        if block_open(held):
            held += "\n"
            continue
        yield held
        held = ""
    if held:
        yield held


def run_lines(chat: Chat) -> int:
    """Take each line of stdin as a message or a command, to its end; return the exit code.

    A message that fails is told on stderr, and the next one is tried: the code is then 1.
    """
    try:
        for line in _blocks(chat.env.stdin):
            feed(chat, line)
            if chat.leaving:
                break
    except UnicodeDecodeError:
        chat.fail(InputError("stdin is not UTF-8 text", "Convert it first, as with iconv"))
    return chat.exit_code


# -- at a prompt -------------------------------------------------------------------------


def _status(chat: Chat) -> Status:
    model = chat.session.model
    state = "loading" if chat.loading.loading(model) else ""
    if chat.loading.error(model) is not None:
        state = "cannot be loaded"
    if chat.uncounted and chat.last is not None:
        chat.remeasure()  # the model has come since
    return Status(
        model=model,
        state=state,
        measure=chat.measure,
        turn=chat.last,
        title=chat.session.title,
        waiting=len(chat.documents),
        editing=chat.editing is not None,
    )


def _terminated(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextmanager
def _orderly_end() -> Iterator[None]:
    """Unwind on SIGTERM and SIGHUP, so that whatever changed the terminal puts it back."""
    numbers = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]
    before = {number: signal.signal(number, _terminated) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _line(chat: Chat) -> "Line":
    from prompt_toolkit.output import create_output

    from chatcli.terminal.command.tune import settable
    from chatcli.terminal.complete import Sources
    from chatcli.terminal.history import LineHistory
    from chatcli.terminal.prompt import Line

    sources = Sources(
        commands=KNOWN,
        models=chat.models,
        sessions=lambda: chat.store.sessions(kinds=("chat",)),
        turns=chat.conversation.path,
        keys=lambda: [*settable(), "usage"],
    )
    env = chat.env
    return Line(
        sources=sources,
        status=lambda width: status_line(_status(chat), width),
        settings=lambda: chat.settings.terminal,
        history=LineHistory(
            paths.history_file() if chat.kept else None,
            wanted=lambda: chat.settings.terminal.history,
        ),
        color=env.color or env.color_err,
        # `chatcli chat > file` in a terminal: the prompt must stay out of the file.
        output=None if env.stdout_tty else create_output(stdout=env.stderr),
    )


def run_prompt(chat: Chat) -> int:
    """Read lines at a prompt until the user leaves; return the exit code."""
    with _orderly_end(), silence(chat.env.stdin):
        line = _line(chat)
        chat.loading.ended = line.invalidate
        while not chat.leaving:
            # A Ctrl-C between two prompts is meant for something that has just ended.
            with suppress(KeyboardInterrupt):
                text = _read(chat, line)
                if text is not None:
                    feed(chat, text)
    return chat.exit_code


def _read(chat: Chat, line: "Line") -> str | None:
    """Return the next line; None when there is none (and perhaps never will be)."""
    from chatcli.terminal.keys import Cleared, Signalled

    prefill, chat.prefill = chat.prefill, ""
    try:
        return line.read(prefill, editing=chat.editing is not None)
    except Cleared:
        chat.editing = None
        chat.note("The question stays as it was.")
    except EOFError:
        chat.leave()
    except Signalled as signalled:
        chat.leave(signalled.code)
    except OSError:
        chat.leave(129)  # the terminal is gone
    return None
