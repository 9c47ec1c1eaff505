"""From the options to an open app, and to the session that is talked to."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from chatcli.app import App
from chatcli.cli.options import Chosen
from chatcli.core.errors import SessionNotFound
from chatcli.core.session import Kind, Session
from chatcli.orchestrator.conversation import Conversation
from chatcli.settings import Settings, load_settings

Factory: TypeAlias = Callable[[Settings], App]


def _default_factory(settings: Settings) -> App:
    from chatcli.cli.first_run import ready_model

    return App(settings, fetch=lambda reference: ready_model(reference, settings))


factory: Factory = _default_factory
"""Makes the App; `main(app_factory=...)` replaces it."""


def open_app(chosen: Chosen) -> App:
    """Load the settings under the options, and make the App.

    Raises:
        ConfigError: a settings file, a variable or an option is wrong.
    """
    return factory(settings_for(chosen))


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
    session = _asked_for(app, chosen)
    if session is None:
        system = app.settings.system
        conversation.start(model=app.default_model(), system=system, kind=kind)
        return
    if chosen.fork:
        conversation.fork_of(session, session.head)
    else:
        conversation.load(session)
    if chosen.model is not None and chosen.model != session.model:
        conversation.set_model(chosen.model)
    if chosen.system is not None and chosen.system != session.system:
        conversation.set_system(chosen.system)


def _asked_for(app: App, chosen: Chosen) -> Session | None:
    if chosen.cid is not None:
        return app.store.resolve(chosen.cid)
    if not chosen.go_on:
        return None
    latest = app.store.latest()
    if latest is None:
        raise SessionNotFound("there is no session to go on with", 'Begin one: chatcli "hello"')
    return latest
