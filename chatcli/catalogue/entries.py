"""What a model known by name is: its file, its checksum, where it can be had."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from chatcli.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class HubSource:
    """A file of a Hugging Face repository: by its name, or by its quantisation ("" : the best)."""

    repo: str
    file: str = ""
    quant: str = ""
    mirror: bool = False


@dataclass(frozen=True, slots=True)
class UrlSource:
    """A file on any web server."""

    url: str
    mirror: bool = False


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file that is already on this machine; it is used where it lies."""

    path: Path
    mirror: bool = False


@dataclass(frozen=True, slots=True)
class WheelPart:
    """One member of one package; `n_bytes` is the size of its wheel, 0 if unknown."""

    package: str
    version: str
    member: str
    n_bytes: int = 0


@dataclass(frozen=True, slots=True)
class WheelSource:
    """Packages of the Python index whose members, joined in order, are the file."""

    parts: tuple[WheelPart, ...]
    mirror: bool = False


Source: TypeAlias = HubSource | UrlSource | FileSource | WheelSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A model known by name. `sha256` "" means unverified; `n_bytes` is then approximate."""

    name: str
    file: str
    sources: tuple[Source, ...]
    aliases: tuple[str, ...] = ()
    sha256: str = ""
    n_bytes: int = 0
    parameters: str = ""
    context: int = 0
    licence: str = ""
    memory_bytes: int = 0
    offer: int = 0
    embedded: bool = False
    notes: str = ""


def find_entry(entries: Iterable[Entry], name: str) -> Entry | None:
    """Return the entry with this name or alias, or the only one whose name begins with it."""
    wanted = name.lower()
    known = list(entries)
    for entry in known:
        if wanted == entry.name or wanted in entry.aliases:
            return entry
    begun = [entry for entry in known if wanted and entry.name.startswith(wanted)]
    return begun[0] if len(begun) == 1 else None


def embedded_entry(entries: Iterable[Entry]) -> Entry:
    """Return the model that needs nothing but the package index.

    Raises:
        ConfigError: the catalogue has none.
    """
    for entry in entries:
        if entry.embedded:
            return entry
    raise ConfigError("the catalogue has no embedded model", "Install chatcli again")
