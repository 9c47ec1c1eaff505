"""Keeps a command line from paying for what it does not use of typer.

typer 0.29 checks every parameter through pydantic, given or not: importing pydantic and
building an adapter for each of forty options costs more than all the rest of a start. Here
text stays text and an option that was not given is left alone; only a value of another type
(a number, a path, a choice) still takes typer's way.
"""

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from chatcli.cli.options import PAIR


def lighten(command: object) -> None:
    """Make the parameters of a command, and of all below it, cheap to read."""
    for param in getattr(command, "params", ()):
        if isinstance(param, TyperArgument | TyperOption):
            if param.metavar == PAIR:
                param.nargs = 2
            # An attribute of the object, found before the method of its class.
            vars(param)["process_value"] = _process(param)
    if isinstance(command, TyperGroup):
        for below in command.commands.values():
            lighten(below)


def _process(param: TyperArgument | TyperOption) -> Callable[[typer.Context, Any], Any]:
    usual = param.process_value
    several = param.multiple or param.nargs == -1
    annotation = param.type_descriptor.annotation

    def process(ctx: typer.Context, value: Any) -> Any:
        if value is None and several:
            value = ()
        absent = value is None or value == ()
        textual = annotation in (str, list[str]) or type(value) is annotation
        if not (absent or textual) or (absent and param.required):
            return usual(ctx, value)
        return param.callback(ctx, param, value) if param.callback is not None else value

    return process
