"""What the `chatcli sessions` commands share: arguments, the store, and the question before rm."""

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from chatcli import paths
from chatcli.core.errors import ChatcliError, SessionNotFound, UsageError
from chatcli.core.printable import visible_line

if TYPE_CHECKING:
    from chatcli.core.session import Session
    from chatcli.sessions.sqlite import SqliteStore

# The store is imported in the bodies: `chatcli --help` needs none of it.


def open_store() -> "SqliteStore":
    """Open the user's sessions; the caller closes them."""
    from chatcli.sessions.sqlite import SqliteStore

    return SqliteStore(paths.sessions_file())


def complete_id(incomplete: str) -> list[tuple[str, str]]:
    """Offer ids, with titles, to the shell; nothing if the sessions cannot be read."""
    if not paths.sessions_file().exists():
        return []
    try:
        with open_store() as store:
            found = [(s.id[:8], visible_line(s.title)) for s in store.sessions(limit=200)]
    except ChatcliError:
        return []
    return [(name, title) for name, title in found if name.startswith(incomplete)]


SESSION_ID = typer.Argument(
    metavar="ID",
    help="An id, its first 4 or more characters, or a title.",
    autocompletion=complete_id,
)
YES = typer.Option("-y", "--yes", help="Do not ask.")
AS_JSON = typer.Option("--json", help="Print JSON.")


def find_session(store: "SqliteStore", reference: str) -> "Session":
    """Return the session that is meant; the one used last if none is named."""
    if reference:
        return store.resolve(reference)
    latest = store.latest()
    if latest is None:
        raise SessionNotFound("there are no sessions yet", "Begin one: chatcli chat")
    return latest


def confirm(sessions: Sequence["Session"]) -> None:
    """List what would be deleted, and ask; without a terminal, refuse.

    Raises:
        UsageError: nobody can be asked.
        typer.Abort: the answer is no.
    """
    from chatcli.cli.sessions_text import table

    for line in table(sessions[:10], width()):
        typer.echo(line, err=True)
    if len(sessions) > 10:
        typer.echo(f"and {len(sessions) - 10} more", err=True)
    if not sys.stdin.isatty():
        raise UsageError(f"{counted(len(sessions))} would be deleted", "Add -y to do it")
    typer.confirm(f"Delete {counted(len(sessions))} for good?", abort=True, err=True)


def counted(n: int) -> str:
    """Return a number of sessions in words."""
    return f"{n} session" if n == 1 else f"{n} sessions"


def width() -> int:
    """Return the columns of the terminal on stdout; 0 without one: cut nothing."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def json_list(sessions: Sequence["Session"]) -> str:
    """Return sessions, without their turns, as JSON."""
    from chatcli.sessions.codec import session_to
    from chatcli.sessions.export import safe_json

    return safe_json([session_to(session) for session in sessions])
