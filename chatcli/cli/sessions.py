"""`chatcli sessions`: what was said, to list, search, show, rename, delete, export, import."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from chatcli import paths
from chatcli.cli.sessions_files import export, import_
from chatcli.cli.sessions_shared import (
    AS_JSON,
    SESSION_ID,
    YES,
    confirm,
    counted,
    find_session,
    json_list,
    open_store,
    width,
)
from chatcli.core.errors import UsageError
from chatcli.core.printable import visible_line

if TYPE_CHECKING:
    from chatcli.core.session import Session

# The store is imported in the bodies: `chatcli --help` needs none of it.


def register(app: typer.Typer) -> None:
    """Add the `sessions` commands to the tree."""
    sessions = typer.Typer(
        help="List, search, show, export and delete what was said.", no_args_is_help=True
    )
    sessions.command("list")(list_)
    sessions.command("ls", hidden=True)(list_)
    sessions.command("search")(search)
    sessions.command("show")(show)
    sessions.command("rename")(rename)
    sessions.command("rm")(rm)
    sessions.command("export")(export)
    sessions.command("import")(import_)
    sessions.command("prune")(prune)
    sessions.command("path")(path)
    app.add_typer(sessions, name="sessions")


# -- looking -----------------------------------------------------------------------------


def list_(
    everything: Annotated[bool, typer.Option("--all", help="One-shot questions, too.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="At most so many; 0: all.")] = 50,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """List chats, last used first; with --all, one-shot questions after them."""
    from chatcli.cli.sessions_text import table

    with open_store() as store:
        found = store.sessions(kinds=("chat",))
        asks = store.sessions(kinds=("ask",))
    n_hidden = 0 if everything else len(asks)
    found += asks if everything else []
    shown = found[:limit] if limit else found
    if as_json:
        typer.echo(json_list(shown))
        return
    for line in table(shown, width()):
        typer.echo(line)
    if len(shown) < len(found):
        typer.echo(f"{len(found) - len(shown)} more: --limit 0 shows all.", err=True)
    elif not found:
        rest = f" {n_hidden} one-shot questions: --all shows them." if n_hidden else ""
        typer.echo(f"No chats yet.{rest}", err=True)


def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="All of them must match.")],
    limit: Annotated[int, typer.Option(min=0, help="At most so many; 0: all.")] = 20,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Search questions and replies; the best match comes first."""
    from chatcli.cli.sessions_text import hit_lines
    from chatcli.sessions.codec import session_to
    from chatcli.sessions.export import safe_json

    with open_store() as store:
        hits = store.search(" ".join(words), limit=limit)
    if as_json:
        rows = [{"session": session_to(h.session), "turn": h.turn, "text": h.snippet} for h in hits]
        typer.echo(safe_json(rows))
        return
    for hit in hits:
        for line in hit_lines(hit):
            typer.echo(line)
    if not hits:
        typer.echo("Nothing was found.", err=True)


def show(
    reference: Annotated[str, SESSION_ID] = "",
    tree: Annotated[
        bool, typer.Option("--tree/--turns", help="All branches, a line each.")
    ] = False,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Show a chat as it stands (default: the last one used), or its tree of turns."""
    from chatcli.cli.sessions_text import transcript
    from chatcli.sessions.export import as_json as whole
    from chatcli.sessions.tree import draw_tree

    with open_store() as store:
        session = find_session(store, reference)
        if as_json:
            typer.echo(whole(session, store.turns(session.id)), nl=False)
        elif tree:
            for line in draw_tree(store.turns(session.id), session.head):
                typer.echo(line)
        else:
            for line in transcript(session, store.path(session.id, session.head)):
                typer.echo(line)


def path() -> None:
    """Print where the session database is."""
    typer.echo(visible_line(str(paths.sessions_file())))


# -- changing ----------------------------------------------------------------------------


def rename(
    reference: Annotated[str, SESSION_ID],
    title: Annotated[str, typer.Argument(metavar="TITLE", help="The new title.")],
) -> None:
    """Give a chat another title."""
    from dataclasses import replace

    if not (title := visible_line(title)):
        raise UsageError("the title is empty", "Give it in quotes: chatcli sessions rename ID 'A'")
    with open_store() as store:
        found = store.resolve(reference)
        with store.hold(found.id):
            store.save(replace(store.get(found.id), title=title))


def rm(
    references: Annotated[list[str], SESSION_ID],
    yes: Annotated[bool, YES] = False,
) -> None:
    """Delete chats for good: texts, search index, KV state, what SQLite would leave behind."""
    with open_store() as store:
        found = list({s.id: s for s in map(store.resolve, references)}.values())
        if not yes:
            confirm(found)
        store.remove_all([session.id for session in found])
    _forget(found)
    typer.echo(f"Deleted {counted(len(found))}.", err=True)


def prune(
    asks: Annotated[bool, typer.Option("--asks", help="Delete one-shot questions.")] = False,
    chats: Annotated[bool, typer.Option("--chats", help="Delete chats.")] = False,
    older: Annotated[
        str, typer.Option(metavar="AGE", help="Only those not used for so long: 12h, 30d, 8w, 1y.")
    ] = "30d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list them.")] = False,
    yes: Annotated[bool, YES] = False,
) -> None:
    """Delete what has not been used for a time. Nothing is ever deleted by itself."""
    import time

    from chatcli.cli.sessions_text import table
    from chatcli.core.session import Kind

    chosen: list[tuple[Kind, bool]] = [("ask", asks), ("chat", chats)]
    kinds = [kind for kind, wanted in chosen if wanted]
    if not kinds:
        raise UsageError("nothing was chosen to delete", "Add --asks, --chats, or both")
    before = time.time() - age_s(older)
    with open_store() as store:
        found = [s for s in store.sessions(kinds=kinds) if s.updated_at < before]
        if dry_run:
            for line in table(found, width()):
                typer.echo(line)
        elif found:
            if not yes:
                confirm(found)
            gone = store.remove_all([session.id for session in found], spare_busy=True)
            found = [session for session in found if session.id in gone]
            _forget(found)
    verb = "Would delete" if dry_run else "Deleted"
    typer.echo(f"{verb} {counted(len(found))}.", err=True)


def _forget(sessions: "Sequence[Session]") -> None:
    """Delete the KV state that only these sessions needed: it could be turned back into text."""
    from chatcli.engine.kv.store import forget_sessions

    forget_sessions([session.id for session in sessions])


_UNITS_S = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0, "y": 365 * 86400.0}


def age_s(text: str) -> float:
    """Return an age such as 30d in seconds.

    Raises:
        UsageError: it is not a whole number with one of h, d, w, y.
    """
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS_S or not (number.isascii() and number.isdecimal()) or len(number) > 6:
        raise UsageError(f"{visible_line(text)!r} is no age", "Examples: 12h, 30d, 8w, 1y")
    return int(number) * _UNITS_S[unit]
