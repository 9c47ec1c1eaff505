"""`chatcli sessions export` and `import`."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from chatcli.cli.sessions_shared import SESSION_ID, counted, open_store
from chatcli.core.errors import InputError, StorageError


class ExportFormat(StrEnum):
    """What `export` writes."""

    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


class ImportFormat(StrEnum):
    """What `import` reads."""

    AUTO = "auto"
    CHATCLI = "chatcli"
    CHATGPT = "chatgpt"
    LLM = "llm"


def export(
    reference: Annotated[str, SESSION_ID],
    format_: Annotated[
        ExportFormat | None,
        typer.Option("-f", "--format", help="Default: by the file's ending, else markdown."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Default: stdout.")
    ] = None,
) -> None:
    """Write a chat as Markdown, HTML, or JSON that `import` reads back."""
    from chatcli.sessions.export import as_json, as_markdown
    from chatcli.sessions.export_html import as_html

    chosen = format_ or _format_of(output)
    with open_store() as store:
        session = store.resolve(reference)
        if chosen is ExportFormat.JSON:
            text = as_json(session, store.turns(session.id))
        else:
            turns = store.path(session.id, session.head)
            text = (as_html if chosen is ExportFormat.HTML else as_markdown)(session, turns)
    if output is None:
        typer.echo(text, nl=False)
    else:
        _write(output, text)


def _format_of(output: Path | None) -> ExportFormat:
    endings = {".json": ExportFormat.JSON, ".html": ExportFormat.HTML, ".htm": ExportFormat.HTML}
    return endings.get(output.suffix.lower() if output else "", ExportFormat.MARKDOWN)


def _write(output: Path, text: str) -> None:
    try:
        fd = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise StorageError(
            f"cannot write {output}: {error.strerror or error}", "Choose another file with -o"
        ) from error


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .json, .zip or .db file.")],
    format_: Annotated[ImportFormat, typer.Option("--format", help="What it is.")] = (
        ImportFormat.AUTO
    ),
    model: Annotated[
        str, typer.Option("-m", "--model", help="The model that goes on with the chats.")
    ] = "",
) -> None:
    """Read chats from our JSON, ChatGPT's export or llm's log; twice adds nothing twice."""
    from chatcli.sessions.importing import import_chats, read_chats

    chats = read_chats(file, format_.value)
    if not chats:
        raise InputError(f"{file} holds no chats")
    with open_store() as store:
        done = import_chats(store, chats, model)
    parts = [f"{counted(done.added)} added"]
    parts += [f"{done.extended} extended"] if done.extended else []
    parts += [f"{done.unchanged} known already"] if done.unchanged else []
    typer.echo(f"{', '.join(parts)}; {done.turns} turns in all.", err=True)
