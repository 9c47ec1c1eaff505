"""From the options to an open app, and to the session that is talked to."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from chatcli.app import App
from chatcli.cli.options import Chosen
from chatcli.core.errors import SessionNotFound
from chatcli.core.ports import SessionStore
from chatcli.core.session import Kind, Session
from chatcli.orchestrator.conversation import Conversation
from chatcli.settings import SessionSettings, Settings, load_settings

Factory: TypeAlias = Callable[[Settings], App]


def _default_factory(settings: Settings) -> App:
    from chatcli.cli.first_run import ready_model

    return App(settings, fetch=lambda reference: ready_model(reference, settings))


_factory: ContextVar[Factory] = ContextVar("factory", default=_default_factory)


@contextmanager
def made_by(factory: Factory) -> Iterator[None]:
    """Let `factory` make the App meanwhile: with another engine, in a test."""
    token = _factory.set(factory)
    try:
        yield
    finally:
        _factory.reset(token)


def open_app(chosen: Chosen) -> App:
    """Load the settings under the options, and make the App; the caller closes it.

    Raises:
        ConfigError: a settings file, a variable or an option is wrong.
    """
    return _factory.get()(settings_for(chosen))


def settings_for(chosen: Chosen) -> Settings:
    """Return the settings that hold with these options."""
    cwd: Path | None = None
    with suppress(OSError):  # the folder may have been removed under the shell
        cwd = Path.cwd()
    return load_settings(flags=chosen.flags(), environ=os.environ, cwd=cwd).settings


def start(app: App, conversation: Conversation, chosen: Chosen, *, kind: Kind) -> None:
    """Begin a new session, or take up the one that was asked for.

    Raises:
        SessionNotFound: there is none.
        SessionBusy: another process talks to it, and no fork was asked for.
    """
    if not (chosen.go_on or chosen.cid is not None):
        system = app.settings.system
        conversation.start(model=app.default_model(), system=system, kind=kind)
        return
    session = _asked_for(app, chosen)
    if chosen.fork:
        conversation.fork_of(session, session.head)
    else:
        conversation.load(session)
    if chosen.model is not None and chosen.model != session.model:
        conversation.set_model(chosen.model)
    if chosen.system is not None and chosen.system != session.system:
        conversation.set_system(chosen.system)


def _asked_for(app: App, chosen: Chosen) -> Session:
    if app.settings.sessions.log:
        return _found(app.store, chosen)
    # Incognito: the kept session is only read, and goes on in memory.
    kept = _factory.get()(replace(app.settings, sessions=SessionSettings(log=True)))
    try:
        session = _found(kept.store, chosen)
        app.store.add(session, kept.store.path(session.id, session.head))
    finally:
        kept.close()
    return session


def _found(store: SessionStore, chosen: Chosen) -> Session:
    if chosen.cid is not None:
        return store.resolve(chosen.cid)
    latest = store.latest()
    if latest is None:
        raise SessionNotFound("there is no session to go on with", 'Begin one: chatcli "hello"')
    return latest
