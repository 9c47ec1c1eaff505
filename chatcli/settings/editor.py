"""The user's text editor: which program, with which arguments."""

import shlex
import shutil
from collections.abc import Mapping

from chatcli.core.errors import ConfigError

_USUAL = ("nano", "vim", "vi")


def editor_command(chosen: str | None, environ: Mapping[str, str]) -> list[str]:
    """Return the editor as an argument list, the file still to be added.

    `chosen` is the setting terminal.editor; then come VISUAL, EDITOR, and what is installed.

    Raises:
        ConfigError: there is none, or it is not installed.
    """
    asked = [
        ("terminal.editor", chosen or ""),
        ("VISUAL", environ.get("VISUAL", "")),
        ("EDITOR", environ.get("EDITOR", "")),
    ]
    for name, line in asked:
        if line.strip():
            return _checked(name, line, environ)
    for program in _USUAL:
        if shutil.which(program, path=environ.get("PATH")):
            return [program]
    raise ConfigError("no text editor was found", "Set EDITOR to the one you use")


def _checked(name: str, line: str, environ: Mapping[str, str]) -> list[str]:
    try:
        command = shlex.split(line)
    except ValueError as error:
        raise ConfigError(
            f"{name}={line} is not a command line: {error}", "Check its quotes"
        ) from error
    if not shutil.which(command[0], path=environ.get("PATH")):
        raise ConfigError(
            f"the editor {command[0]} ({name}) was not found", f"Install it, or change {name}"
        )
    return command
