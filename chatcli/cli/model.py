"""`chatcli pull`, `list`, `show`, `rm`: the models on this machine."""

import sys
from typing import Annotated

import typer

from chatcli.core.errors import UsageError
from chatcli.core.printable import visible_line

_NAMES = typer.Argument(metavar="MODEL...", help="A name, hf.co/USER/REPO:QUANT, or an address.")
_JSON = typer.Option("--json", help="Print JSON.")
_OFFLINE = typer.Option("--offline", help="Forbid every download.")


def register(app: typer.Typer) -> None:
    """Add the model commands to the tree."""
    app.command("pull")(pull)
    app.command("list")(list_)
    app.command("ls", hidden=True)(list_)
    app.command("show")(show)
    app.command("rm")(rm)


def pull(
    names: Annotated[list[str], _NAMES],
    offline: Annotated[bool, _OFFLINE] = False,
) -> None:
    """Download models. An interrupted download goes on where it stopped."""
    from chatcli.catalogue.ensure import ensure_model
    from chatcli.cli.current import current_settings
    from chatcli.cli.progress import DownloadDisplay

    settings = current_settings({"download.offline": True if offline else None})
    for name in names:
        with DownloadDisplay() as display:
            model = ensure_model(name, settings, say=display.say, progress=display)
            display.say(f"{model.name} is ready: {model.path}")


def list_(
    everything: Annotated[
        bool,
        typer.Option("--all", "-a", help="Also what other tools have, and what can be had."),
    ] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """List the models on this machine."""
    from chatcli.cli.model_tables import as_table, rows

    found = rows(everything=everything)
    if as_json:
        _print_json([one.plain() for one in found])
        return
    if not found:
        typer.echo("No model is installed: `chatcli pull smollm2:135m` gets a small one", err=True)
        return
    typer.echo(as_table(found))


def show(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="A name, or a .gguf file.")],
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Show what is known of a model: its file, its size, its licence, its sources."""
    from chatcli.cli.model_tables import facts

    known = facts(name)
    if as_json:
        _print_json(known)
        return
    width = max(len(key) for key in known)
    for key, value in known.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        typer.echo(f"{key.replace('_', ' '):<{width}}  {visible_line(text)}")


def rm(
    names: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Installed models.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete installed models. Files of other tools and your own files are never touched."""
    from chatcli.catalogue.progress import readable_bytes
    from chatcli.catalogue.remove import plan_removal, remove

    planned = [plan_removal(name) for name in names]
    if not yes and not sys.stdin.isatty():
        raise UsageError("rm asks before it deletes, and stdin is not a terminal", "Add --yes")
    for one in planned:
        gone = "its file is kept" if one.kept else "its file was gone"
        what = f"{one.name} ({readable_bytes(one.n_bytes) if one.files else gone})"
        if not yes and not _agreed(what):
            typer.echo(f"{visible_line(one.name)} was kept", err=True)
            continue
        remove(one)
        typer.echo(f"Removed {visible_line(what)}", err=True)


def _agreed(what: str) -> bool:
    typer.echo(f"Remove {visible_line(what)}? [y/N] ", err=True, nl=False)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, indent=2))
