"""The user's settings file: one key set or unset, checked first, written in one step.

The new text goes to a file beside it (mode 0600), is synced, and takes the old one's place;
a crash leaves the old file or the new one. A link (a dotfiles repository) stays a link.
"""

import os
from contextlib import suppress
from pathlib import Path

from chatcli import paths
from chatcli.core.errors import ConfigError, StorageError
from chatcli.settings.file import read_text
from chatcli.settings.keys import Key, find_key
from chatcli.settings.value import from_object

_FIRST_LINE = "# Settings of chatcli: `chatcli config show` lists every key and its value.\n"


def write_user_value(dotted_key: str, value: object) -> Path:
    """Set one key in the user's file, and return the file. Text is read as the key's type.

    Raises:
        ConfigError: no such key, not what the key wants, or the file is already wrong.
        StorageError: the file cannot be written.
    """
    from chatcli.settings.edit import with_value

    key = find_key(dotted_key)
    checked = from_object(key, value)
    path = paths.user_config_file()
    text = read_text(path)
    new = with_value(_FIRST_LINE if text is None else text, key.name, checked, path)
    if new != text:
        replace_text(path, new)
    return path


def unset_user_value(dotted_key: str) -> bool:
    """Remove one key from the user's file; False when it was not set there.

    Raises:
        ConfigError: no such key, or the file is already wrong.
        StorageError: the file cannot be written.
    """
    from chatcli.settings.edit import without_value

    key: Key = find_key(dotted_key)
    path = paths.user_config_file()
    text = read_text(path) or ""
    new = without_value(text, key.name, path)
    if new != text:
        replace_text(path, new)
    return new != text


def replace_text(path: Path, text: str) -> None:
    """Write `text` to `path` in one step, readable by the user alone.

    Raises:
        StorageError: it cannot be written; the old file is as it was.
    """
    try:
        target = path.resolve(strict=False)
    except (OSError, RuntimeError) as error:  # RuntimeError: a symlink loop, before 3.13
        raise ConfigError(f"{path} is a link to itself", "Remove the link") from error
    paths.private_dir(target.parent)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}",
            "Nothing was changed; free space or check the rights of the folder",
        ) from error
