"""The layers, merged: default < user < project < environment < flag, and where each value is from.

A project file may only set what `keys.PROJECT_KEYS` lists. Without a settings file nothing is
parsed and yaml is not imported: the defaults are `Settings()` itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

from chatcli import paths
from chatcli.core.errors import ConfigError
from chatcli.core.nearest import nearest
from chatcli.core.printable import visible_line
from chatcli.settings.file import read_text, simple
from chatcli.settings.keys import (
    OTHER_VARIABLES,
    Value,
    all_keys,
    find_key,
    variables,
)
from chatcli.settings.schema import Settings
from chatcli.settings.value import from_object, from_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Group = TypeVar("_Group", bound="DataclassInstance")
Layer: TypeAlias = Literal["default", "user", "project", "environment", "flag"]

PROJECT_FILE = ".chatcli.yaml"
_PREFIX = "CHATCLI_"


class Origin(NamedTuple):
    """Where a value is from: its layer, and the file and line or the environment variable."""

    layer: Layer
    file: Path | None = None
    line: int | None = None
    variable: str | None = None

    def __str__(self) -> str:
        if self.file is not None:
            return f"{self.file}:{self.line}"
        return self.variable or self.layer


class Loaded(NamedTuple):
    """The merged settings, and the origin of every value that is not a default."""

    settings: Settings
    origins: Mapping[str, Origin]

    def origin(self, dotted_key: str) -> Origin:
        """Return where the value of a key is from.

        Raises:
            ConfigError: there is no such key.
        """
        return self.origins.get(find_key(dotted_key).name, Origin("default"))

    def value(self, dotted_key: str) -> Value:
        """Return the value of a key.

        Raises:
            ConfigError: there is no such key.
        """
        return value_of(self.settings, find_key(dotted_key).name)


_Found: TypeAlias = Iterator[tuple[str, Value, Origin]]


def load_settings(
    *, flags: Mapping[str, object], environ: Mapping[str, str], cwd: Path | None
) -> Loaded:
    """Merge all layers. `flags` go by dotted name; None is a flag that was not given.

    `cwd` None: no project file is looked for.

    Raises:
        ConfigError: a file, a variable or a flag is wrong; names the place and the remedy.
    """
    values: dict[str, Value] = {}
    origins: dict[str, Origin] = {}
    project = None if cwd is None else project_file(cwd)
    layers = [
        _from_file("user", paths.user_config_file()),
        _from_file("project", project) if project else iter(()),
        _from_environment(environ),
        _from_flags(flags),
    ]
    for layer in layers:
        for name, value, origin in layer:
            values[name] = value
            origins[name] = origin
    return Loaded(_built(values), origins)


def value_of(settings: Settings, name: str) -> Value:
    """Return the value of a key that is known to exist."""
    found: object = settings
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[return-value]  # all_keys() holds nothing but fields of Settings


def project_file(cwd: Path) -> Path | None:
    """Return the `.chatcli.yaml` that counts in `cwd`, if there is one.

    Looked for in `cwd` and its parents up to the root of the git repository or the home
    folder. Outside both only `cwd` itself counts: a file in /tmp or / is nobody's project.
    """
    home = paths.home()
    found = None
    for folder in (cwd, *cwd.parents):
        candidate = folder / PROJECT_FILE
        if found is None and (candidate.exists() or candidate.is_symlink()):
            found = candidate
        if folder == home or (folder / ".git").exists():
            return found
    return found if found and found.parent == cwd else None


def _from_file(layer: Literal["user", "project"], path: Path) -> _Found:
    text = read_text(path)
    if not text:
        return
    entries = simple(text)
    if entries is None:
        # Only who has a file that needs it pays for yaml.
        from chatcli.settings.document import parse

        entries = parse(text, path)
    for name, entry in entries.items():
        if layer == "project" and not all_keys()[name].in_project:
            raise ConfigError(
                f"{path}, line {entry.line}: a project may not set {name}",
                f"Put it into your own file, {paths.user_config_file()}",
            )
        yield name, entry.value, Origin(layer, path, entry.line)


def _from_environment(environ: Mapping[str, str]) -> _Found:
    given = {name for name in environ if name.startswith(_PREFIX)} - OTHER_VARIABLES
    if not given:
        return
    known = variables()
    for unknown in sorted(given - known.keys()):
        meant = nearest(unknown, [*known, *OTHER_VARIABLES])
        raise ConfigError(
            f"environment: unknown variable {visible_line(unknown)}",
            f"Did you mean {meant}?" if meant else "`chatcli config show` lists every key",
        )
    for variable, key in known.items():
        text = environ.get(variable, "")
        if text:  # set but empty is not set, as shells make it easy to do
            value = from_text(key, text, f"environment: {variable}")
            yield key.name, value, Origin("environment", variable=variable)


def _from_flags(flags: Mapping[str, object]) -> _Found:
    for name, given in flags.items():
        if given is not None:
            key = find_key(name, "command line")
            yield key.name, from_object(key, given, "command line"), Origin("flag")


def _built(values: Mapping[str, Value]) -> Settings:
    settings = Settings()
    top: dict[str, object] = {}
    groups: dict[str, dict[str, object]] = {}
    for name, value in values.items():
        group, _, leaf = name.rpartition(".")
        (groups.setdefault(group, {}) if group else top)[leaf] = value
    for group, inner in groups.items():
        top[group] = _changed(getattr(settings, group), inner)
    return _changed(settings, top)


def _changed(group: _Group, changes: Mapping[str, object]) -> _Group:
    # Not `replace(...)` in place: the type check of each field was `from_text`'s.
    return replace(group, **changes)
