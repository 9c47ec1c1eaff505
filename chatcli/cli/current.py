"""The settings that hold for a command, here and now."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from chatcli.settings import Settings, load_settings


def current_settings(flags: Mapping[str, object] | None = None) -> Settings:
    """Return the settings of files and environment under the flags, by dotted key.

    Raises:
        ConfigError: a settings file, a variable or a flag is wrong.
    """
    return load_settings(flags=flags or {}, environ=os.environ, cwd=working_folder()).settings


def working_folder() -> Path | None:
    """Return the current folder; None where it was removed under the shell."""
    with suppress(OSError):
        return Path.cwd()
    return None
