"""`chatcli chat` and `chatcli run`: from the options to a prompt, or to lines of stdin."""

import sys
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Protocol, runtime_checkable

import typer

from chatcli.cli.options import Chosen, takes
from chatcli.core.errors import SessionBusy, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatcli.app import App
    from chatcli.terminal.chat import Chat
    from chatcli.terminal.env import Env

_HINT = '/help lists the commands; """ begins several lines; Ctrl-D leaves.'
_NOT_KEPT = "This chat is not kept. /help lists the commands; Ctrl-D leaves."


@runtime_checkable
class _LoadsFiles(Protocol):
    """A source whose models are files, which may have to be downloaded; a scripted one is not."""

    def preload(self, model: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Chatting(Chosen):
    """What was typed behind `chat`."""


@dataclass(frozen=True, kw_only=True)
class Running(Chosen):
    """What was typed behind `run`."""

    name: Annotated[str, typer.Argument(metavar="MODEL", show_default=False)]
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[QUESTION]...", show_default=False)
    ] = None


def register(app: typer.Typer) -> None:
    """Add `chat` and `run` to the tree."""
    app.command("chat")(takes(Chatting, chat))
    app.command("run")(takes(Running, run))


def chat(chosen: Chosen) -> int:
    """Chat in the terminal; without a terminal each line of stdin is a message."""
    from chatcli.cli.open import open_app

    chosen.check()
    app = open_app(chosen)
    try:
        return _chat(app, chosen)
    finally:
        app.close()


def run(running: Running) -> int:
    """Chat with MODEL; with a question, or a pipe, answer that and leave."""
    if running.model is not None and running.model != running.name:
        raise UsageError("the model is named twice", "Leave out -m")
    said = {field.name: getattr(running, field.name) for field in fields(Chosen)}
    said["model"] = running.name
    if not running.words and sys.stdin.isatty():
        return chat(Chatting(**said))
    from chatcli.cli import ask

    return ask.run(ask.Asked(words=running.words, **said))


def _chat(app: "App", chosen: Chosen) -> int:
    from chatcli.terminal.env import Env

    terminal = app.settings.terminal
    env = Env.current(terminal.color, terminal.theme)
    talk = _desk(app, chosen, env)
    try:
        return _talk(app, talk, chosen)
    finally:
        talk.conversation.close()


def _talk(app: "App", talk: "Chat", chosen: Chosen) -> int:
    from chatcli.terminal.repl import run_lines, run_prompt

    if not talk.interactive:
        _begin(app, talk, chosen)
        talk.preload()
        return run_lines(talk)
    try:
        _begin(app, talk, chosen)
    except SessionBusy as error:
        talk.busy = app.store.resolve(chosen.cid) if chosen.cid else app.store.latest()
        talk.conversation.start(model=app.default_model(), system=app.settings.system)
        _greet(talk)
        talk.fail(SessionBusy(error.message, "This is a new chat; /fork goes on in a copy of it"))
    else:
        _greet(talk)
    talk.preload()
    return run_prompt(talk)


def _desk(app: "App", chosen: Chosen, env: "Env") -> "Chat":
    from chatcli.cli.completion import model_names
    from chatcli.terminal.chat import Chat
    from chatcli.terminal.loading import Loading

    conversation = app.conversation()
    conversation.style = replace(conversation.style, stop=tuple(chosen.stop or ()))
    return Chat(
        conversation=conversation,
        store=app.store,
        loading=Loading(app.engines),
        settings=app.settings,
        env=env,
        models=lambda: model_names(""),
        prepare=_preparation(app),
        interactive=env.stdin_tty,
        usage=chosen.usage,
        kept=app.settings.sessions.log,
    )


def _begin(app: "App", talk: "Chat", chosen: Chosen) -> None:
    """Begin a new session, or take up the one asked for.

    Raises:
        SessionBusy: another process talks to it.
    """
    from chatcli.cli.open import start

    try:
        start(app, talk.conversation, chosen, kind="chat")
    except SessionBusy as error:
        raise SessionBusy(error.message, "Add --fork to go on in a copy of it") from error


def _preparation(app: "App") -> "Callable[[str], object]":
    """Return what fetches a model in the foreground, so that no progress runs into a prompt."""
    if not isinstance(app.engines, _LoadsFiles):
        return str
    from chatcli.cli.first_run import ready_model

    return lambda name: ready_model(name, app.settings)


def _greet(talk: "Chat") -> None:
    """Say which model this is and how to find out more; or where a continued chat stands."""
    from chatcli.core.printable import model_label

    if talk.conversation.path():
        talk.moved()
        talk.show_last()
        return
    talk.note(model_label(talk.session.model))
    talk.note(_HINT if talk.kept else _NOT_KEPT)
