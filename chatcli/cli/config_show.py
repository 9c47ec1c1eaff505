"""The settings as text: YAML lines, JSON, or one bare value."""

import json
from collections.abc import Iterator

from chatcli.core.printable import visible, visible_line
from chatcli.settings import Loaded
from chatcli.settings.keys import Value, all_keys, find_key, sections
from chatcli.settings.value import source


def shown(loaded: Loaded, key: str, *, origin: bool, as_json: bool) -> str:
    """Return all settings, those of the section `key`, or the value of the key `key`.

    Raises:
        ConfigError: there is no such key.
    """
    if key and key not in sections():
        names = [find_key(key).name]
    else:
        names = [name for name in all_keys() if not key or name.startswith(f"{key}.")]
    if as_json:
        return json.dumps(_as_json(loaded, names, key, origin=origin))
    if names == [key]:
        return _one(loaded, key, origin=origin)
    return "\n".join(_as_yaml(loaded, names, origin=origin))


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
