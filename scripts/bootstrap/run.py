"""From arguments to an exit code: the only place where an error of the set-up becomes text."""

from __future__ import annotations

import argparse
import errno
import importlib.util
import sys
from pathlib import Path

from .console import Console
from .failure import SetupError
from .steps import SetUp
from .toolchain import VARIANTS


def main(root: str, arguments: argparse.Namespace) -> int:
    """Run the set-up for the clone at `root`; 0, 1 with the reason on stderr, or 130."""
    console = Console()
    try:
        _check_python()
        SetUp(Path(root), console, variant=_variant(arguments.gpu), dev=arguments.dev).run()
    except SetupError as error:
        console.say(f"set-up: {error}")
        return 1
    except OSError as error:
        remedy = "; free some space and run it again" if error.errno == errno.ENOSPC else ""
        console.say(f"set-up: {error.strerror or error}: {error.filename or root}{remedy}")
        return 1
    except KeyboardInterrupt:
        console.say("set-up: interrupted; the same command goes on from here")
        return 130
    return 0


def _variant(name: str) -> str:
    if name in ("", *VARIANTS):
        return name
    raise SetupError(f"GPU={name} is not known", f"use one of {', '.join(VARIANTS)}")


def _check_python() -> None:
    """Debian and Ubuntu ship Python without the parts that make virtual environments.

    Raises:
        SetupError: they are missing.
    """
    if any(importlib.util.find_spec(name) is None for name in ("venv", "ensurepip")):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupError(
            f"Python {version} at {sys.executable} cannot make virtual environments",
            f"install the missing part (Debian, Ubuntu: apt install python{version}-venv) "
            "or name another Python: make PYTHON=/path/to/python",
        )
