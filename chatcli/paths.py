"""Where things live: the XDG base directories, each with a folder of ours.

Read anew at each call, so that a changed environment (a test, a wrapper script) counts.
Folders are made by whoever writes into them, through `private_dir`.
"""

import os
from pathlib import Path

from chatcli.core.errors import StorageError


def _base(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The XDG specification: a relative path must be ignored.
    return Path(value) if Path(value).is_absolute() else _home() / fallback


def home() -> Path | None:
    """Return the user's home folder; None for a user without one, as in some containers."""
    try:
        found = Path.home()
    except RuntimeError:
        return None
    return found if found.is_absolute() else None


def expanded(word: str) -> Path:
    """Return a path as a user writes it, with ``~`` as the home folder; else as it stands."""
    try:
        return Path(word).expanduser()
    except RuntimeError:  # no such user, or no home folder
        return Path(word)


def _home() -> Path:
    found = home()
    if found is None:
        raise StorageError(
            "this user has no home folder", "Set HOME, or the XDG_*_HOME variables, to a folder"
        )
    return found


def config_dir() -> Path:
    """User settings and rule files."""
    return _base("XDG_CONFIG_HOME", ".config") / "chatcli"


def data_dir() -> Path:
    """Sessions and models: what must not be lost."""
    return _base("XDG_DATA_HOME", ".local/share") / "chatcli"


def cache_dir() -> Path:
    """What can be deleted at any time: KV state, self-test outcomes."""
    return _base("XDG_CACHE_HOME", ".cache") / "chatcli"


def state_dir() -> Path:
    """Logs and input history."""
    return _base("XDG_STATE_HOME", ".local/state") / "chatcli"


def models_dir() -> Path:
    """Downloaded weights."""
    return data_dir() / "models"


def sessions_file() -> Path:
    """The session database."""
    return data_dir() / "sessions.db"


def history_file() -> Path:
    """What was typed at the prompt."""
    return state_dir() / "history"


def user_config_file() -> Path:
    """The user's own settings."""
    return config_dir() / "config.yaml"


def private_dir(path: Path) -> Path:
    """Make a folder that only the user can read, and its parents, and return it.

    Raises:
        StorageError: it cannot be made.
    """
    try:
        # One by one: with `parents=True` the parents would get the default mode.
        for folder in (*reversed(path.parents), path):
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot create {path}: {error.strerror or error}",
            "Free space, or set the XDG_*_HOME variables to a folder that can be written",
        ) from error
    return path
