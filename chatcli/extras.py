"""The one place that copes with an optional package that is not installed.

An optional module imports its library plainly, at its top, and is reached only through
`load(name)`. Only the packages in the table may be missing; whatever else cannot be found
is a bug of ours, and is raised as it is.
"""

import shlex
import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from chatcli.core.errors import MissingExtra


class Extra(NamedTuple):
    """An optional module of ours, and what it needs: import name -> what pip is asked for."""

    module: str
    packages: Mapping[str, str]


EXTRAS: Mapping[str, Extra] = {}
"""Empty: everything that chatcli can do today is installed with it."""


def load(name: str) -> ModuleType:
    """Import the optional module of this name.

    Raises:
        MissingExtra: a package that it needs is not installed; the hint is the pip line.
    """
    return load_from(EXTRAS, name)


def load_from(table: Mapping[str, Extra], name: str) -> ModuleType:
    """Do as `load` does, with a table of one's own."""
    extra = table[name]
    try:
        return import_module(extra.module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in extra.packages:
            raise
        missing = error.name
        wanted = shlex.join(extra.packages.values())
        raise MissingExtra(
            f"{name} needs the package {missing}, which is not installed",
            f"Install it with: {shlex.quote(sys.executable)} -m pip install {wanted}",
        ) from error
