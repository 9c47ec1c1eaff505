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
    cwd: Path | None = None
    with suppress(OSError):  # the folder may have been removed under the shell
        cwd = Path.cwd()
    return load_settings(flags=flags or {}, environ=os.environ, cwd=cwd).settings
