"""Keeps a command line from paying for what it does not use of typer.

typer 0.29 checks every parameter through pydantic, given or not: importing pydantic and
building an adapter for each of forty options costs more than all the rest of a start. Here
text stays text and an option that was not given is left alone; only a value of another type
(a number, a path, a choice) still takes typer's way.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

PAIR = "KEY VALUE"
"""The metavar that makes an option take two words; typer has no type for that, repeated."""

_Param = TypeVar("_Param")


class _Command(Protocol):
    """What typer's commands and groups have in common; their own base class is private."""

    params: list[Any]

    def get_help_option(self, ctx: Any) -> Any: ...  # as the class says


def lighten(command: _Command) -> None:
    """Make the parameters of a command, and of all below it, cheap to read."""
    for param in command.params:
        _lighten(param)
    usual = command.get_help_option
    # An attribute of the object, found before the method of its class.
    vars(command)["get_help_option"] = lambda context: _lighten(usual(context))
    if isinstance(command, TyperGroup):
        for below in command.commands.values():
            lighten(below)


def _lighten(param: _Param) -> _Param:
    if isinstance(param, TyperArgument | TyperOption) and "process_value" not in vars(param):
        if param.metavar == PAIR:
            param.nargs = 2
        vars(param)["process_value"] = _process(param)
    return param


def _process(param: TyperArgument | TyperOption) -> Callable[[typer.Context, Any], Any]:
    usual = param.process_value
    several = param.multiple or param.nargs == -1
    annotation = param.type_descriptor.annotation

    def process(context: typer.Context, value: Any) -> Any:
        if value is None and several:
            value = ()
        absent = value is None or value == ()
        textual = annotation in {str, list[str]} or type(value) is annotation
        if not (absent or textual) or (absent and param.required):
            return usual(context, value)
        return value if param.callback is None else param.callback(context, param, value)

    return process
