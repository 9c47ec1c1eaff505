"""`chatcli config`: what is set, where it comes from, and changing it."""

import os
from pathlib import Path
from typing import Annotated

import typer

from chatcli import paths
from chatcli.core.errors import ChatcliError, ConfigError
from chatcli.core.printable import visible_line

# The settings are imported in the bodies: `chatcli --help` needs none of them.


def _complete(incomplete: str) -> list[str]:
    from chatcli.settings.keys import all_keys

    return [name for name in all_keys() if name.startswith(incomplete)]


_KEY = typer.Argument(
    metavar="KEY", help="A dotted name, such as sampling.temperature.", autocompletion=_complete
)


def register(app: typer.Typer) -> None:
    """Add the `config` commands to the tree."""
    config = typer.Typer(help="Show and change settings.", no_args_is_help=True)
    config.command("show")(show)
    config.command("path")(path)
    config.command("edit")(edit)
    # A value may begin with a minus: `config set engine.gpu_layers -1`.
    config.command("set", context_settings={"ignore_unknown_options": True})(set_)
    config.command("unset")(unset)
    app.add_typer(config, name="config")


def show(
    key: Annotated[str, _KEY] = "",
    origin: Annotated[bool, typer.Option("--origin", help="Say where each value is from.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the settings that hold here and now: all, one section, or one KEY."""
    from chatcli.cli.config_show import shown
    from chatcli.cli.current import working_folder
    from chatcli.settings import load_settings

    loaded = load_settings(flags={}, environ=os.environ, cwd=working_folder())
    typer.echo(shown(loaded, key, origin=origin, as_json=as_json))


def path() -> None:
    """Print where your settings file is, or would be."""
    file = paths.user_config_file()
    typer.echo(visible_line(str(file)))
    if not file.exists():
        typer.echo("It does not exist yet; `chatcli config edit` makes it.", err=True)


def edit() -> None:
    """Open your settings file in an editor, and check it afterwards."""
    import subprocess

    from chatcli.settings import load_settings
    from chatcli.settings.editor import editor_command
    from chatcli.settings.write import replace_text

    file = paths.user_config_file()
    command = editor_command(_chosen_editor(), os.environ)
    if not file.exists():
        replace_text(file, _starter())
    try:
        done = subprocess.run([*command, str(file)], check=False)
    except OSError as error:
        raise ConfigError(
            f"cannot start {command[0]}: {error.strerror or error}", "Set EDITOR to another one"
        ) from error
    if done.returncode != 0:
        raise ChatcliError(f"{command[0]} ended with status {done.returncode}", f"See {file}")
    load_settings(flags={}, environ={}, cwd=None)
    typer.echo(f"{visible_line(str(file))} is valid.", err=True)


def _chosen_editor() -> str | None:
    from chatcli.settings import load_settings

    try:
        loaded = load_settings(flags={}, environ=os.environ, cwd=None)
    except ConfigError:
        # A broken file is why one edits; the check afterwards says what is still wrong.
        return None
    return loaded.settings.terminal.editor


def _starter() -> str:
    """Return the documented defaults with each key commented out, ready to be changed."""
    from chatcli.assets import asset_text

    lines = asset_text("config/default.yaml").splitlines()
    body = lines[next(at for at, line in enumerate(lines) if not line.startswith("#")) :]
    head = "# Your settings of chatcli, with their defaults. Remove the # before what you change."
    return "\n".join([head, *map(_commented, body), ""])


def _commented(line: str) -> str:
    key = line.lstrip()
    is_key = key and not key.startswith("#") and not key.endswith(":")
    return f"{line[: len(line) - len(key)]}#{key}" if is_key else line


def set_(
    key: Annotated[str, _KEY],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="null: not set.")],
) -> None:
    """Set KEY to VALUE in your settings file; comments and order stay."""
    from chatcli.settings.write import write_user_value

    file = write_user_value(key, value)
    typer.echo(f"{key} is set in {visible_line(str(file))}.", err=True)
    _warn_if_hidden(key, file)


def unset(key: Annotated[str, _KEY]) -> None:
    """Remove KEY from your settings file."""
    from chatcli.settings.write import unset_user_value

    file = visible_line(str(paths.user_config_file()))
    removed = unset_user_value(key)
    typer.echo(f"{key} {'is removed from' if removed else 'was not set in'} {file}.", err=True)


def _warn_if_hidden(key: str, file: Path) -> None:
    """Say so when another layer has the last word here, so that the change shows no effect."""
    from chatcli.cli.current import working_folder
    from chatcli.settings import load_settings

    try:
        found = load_settings(flags={}, environ=os.environ, cwd=working_folder()).origin(key)
    except ConfigError as error:
        typer.echo(f"Another layer is wrong: {error}.", err=True)
        return
    if found.file != file:
        typer.echo(f"Here it has no effect: {visible_line(str(found))} wins.", err=True)
