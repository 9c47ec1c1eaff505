"""`chatcli config`: what is set, where it comes from, and changing it."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from chatcli import paths
from chatcli.assets import asset_text
from chatcli.core.errors import ChatcliError, ConfigError
from chatcli.core.printable import visible, visible_line
from chatcli.settings import Loaded, load_settings
from chatcli.settings.editor import editor_command
from chatcli.settings.keys import Value, all_keys, find_key, sections
from chatcli.settings.value import source
from chatcli.settings.write import replace_text, unset_user_value, write_user_value


def _complete(incomplete: str) -> list[str]:
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
    loaded = load_settings(flags={}, environ=os.environ, cwd=Path.cwd())
    if key and key not in sections():
        find_key(key)
        names = [key]
    else:
        names = [name for name in all_keys() if not key or name.startswith(f"{key}.")]
    if as_json:
        typer.echo(json.dumps(_as_json(loaded, names, key, origin=origin), ensure_ascii=False))
    elif names == [key]:
        typer.echo(_one(loaded, key, origin=origin))
    else:
        typer.echo("\n".join(_as_yaml(loaded, names, origin=origin)))


def _json_value(value: Value) -> object:
    return dict(value) if isinstance(value, tuple) else value


def _as_json(loaded: Loaded, names: list[str], key: str, *, origin: bool) -> object:
    if origin:
        flat = {name: _described(loaded, name) for name in names}
        return flat[key] if names == [key] else flat
    if names == [key]:
        return _json_value(loaded.value(key))
    tree: dict[str, object] = {}
    for name in names:
        section, _, leaf = name.rpartition(".")
        inner = tree.setdefault(section, {}) if section else tree
        if isinstance(inner, dict):
            inner[leaf] = _json_value(loaded.value(name))
    return tree


def _described(loaded: Loaded, name: str) -> dict[str, object]:
    found = loaded.origin(name)
    return {
        "value": _json_value(loaded.value(name)),
        "layer": found.layer,
        "file": None if found.file is None else str(found.file),
        "line": found.line,
        "variable": found.variable,
    }


def _one(loaded: Loaded, name: str, *, origin: bool) -> str:
    """Return one value bare, for `$(chatcli config show model)`."""
    value = loaded.value(name)
    text = visible(value) if isinstance(value, str) else source(value)
    return f"{text}  # {visible_line(str(loaded.origin(name)))}" if origin else text


def _as_yaml(loaded: Loaded, names: list[str], *, origin: bool) -> Iterator[str]:
    """Yield lines of YAML that would be a valid settings file; origins are comments."""
    opened = ""
    for name in names:
        section, _, leaf = name.rpartition(".")
        if section != opened:
            opened = section
            yield f"{section}:"
        line = f"{'  ' if section else ''}{leaf}: {source(loaded.value(name))}"
        yield f"{line}  # {visible_line(str(loaded.origin(name)))}" if origin else line


def path() -> None:
    """Print where your settings file is, or would be."""
    file = paths.user_config_file()
    typer.echo(visible_line(str(file)))
    if not file.exists():
        typer.echo("It does not exist yet; `chatcli config edit` makes it.", err=True)


def edit() -> None:
    """Open your settings file in an editor, and check it afterwards."""
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
    try:
        loaded = load_settings(flags={}, environ=os.environ, cwd=None)
    except ConfigError:
        # A broken file is why one edits; the check afterwards says what is still wrong.
        return None
    return loaded.settings.terminal.editor


def _starter() -> str:
    """Return the documented defaults with each key commented out, ready to be changed."""
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
    file = write_user_value(key, value)
    typer.echo(f"{key} is set in {visible_line(str(file))}.", err=True)
    _warn_if_hidden(key, file)


def unset(key: Annotated[str, _KEY]) -> None:
    """Remove KEY from your settings file."""
    file = visible_line(str(paths.user_config_file()))
    removed = unset_user_value(key)
    typer.echo(f"{key} {'is removed from' if removed else 'was not set in'} {file}.", err=True)


def _warn_if_hidden(key: str, file: Path) -> None:
    """Say so when another layer has the last word here, so that the change shows no effect."""
    try:
        found = load_settings(flags={}, environ=os.environ, cwd=Path.cwd()).origin(key)
    except ConfigError as error:
        typer.echo(f"Another layer is wrong: {error}.", err=True)
        return
    if found.file != file:
        typer.echo(f"Here it has no effect: {visible_line(str(found))} wins.", err=True)
