"""Which models are installed: a small JSON file beside the weights.

It exists so that a start finds its model without parsing the catalogue. Every statement in
it is checked against the file that it speaks of (size, time); a lost or damaged index is
rebuilt by pulling again, which finds the files already there.
"""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from chatcli import paths
from chatcli.core.errors import StorageError

_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A model on this machine. `parts` are its files, the one to open first.

    `owned` false: the files belong to the user or to another tool, and are never removed.
    """

    name: str
    parts: tuple[Path, ...]
    n_bytes: int
    aliases: tuple[str, ...] = ()
    sha256: tuple[str, ...] = ()
    mtime_ns: int = 0
    source: str = ""
    owned: bool = True

    @property
    def path(self) -> Path:
        """The file to open."""
        return self.parts[0]

    def unchanged(self) -> bool:
        """Tell whether the files are still those that were installed, by size and time."""
        try:
            found = [part.stat() for part in self.parts]
        except OSError:
            return False
        sizes = sum(one.st_size for one in found)
        return sizes == self.n_bytes and found[0].st_mtime_ns == self.mtime_ns


def stamped(model: Installed) -> Installed:
    """Return `model` with the size and time that its files have now."""
    found = [part.stat() for part in model.parts]
    n_bytes = sum(one.st_size for one in found)
    return replace(model, n_bytes=n_bytes, mtime_ns=found[0].st_mtime_ns)


def _index_file() -> Path:
    return paths.models_dir() / "installed.json"


def read_index() -> dict[str, Installed]:
    """Return the installed models by name; a damaged index counts as empty."""
    try:
        content = json.loads(_index_file().read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            return {}
        root = paths.models_dir()
        return {name: _read(root, name, one) for name, one in content["models"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _read(root: Path, name: str, values: dict[str, object]) -> Installed:
    parts, aliases, sha256 = (values[key] for key in ("parts", "aliases", "sha256"))
    n_bytes, mtime_ns = values["n_bytes"], values["mtime_ns"]
    if not (isinstance(parts, list) and isinstance(aliases, list) and isinstance(sha256, list)):
        raise TypeError(name)
    if not (parts and isinstance(n_bytes, int) and isinstance(mtime_ns, int)):
        raise TypeError(name)
    return Installed(
        name=name,
        parts=tuple(root / str(one) for one in parts),
        n_bytes=n_bytes,
        aliases=tuple(map(str, aliases)),
        sha256=tuple(map(str, sha256)),
        mtime_ns=mtime_ns,
        source=str(values["source"]),
        owned=values["owned"] is True,
    )


def find_installed(name: str) -> Installed | None:
    """Return the installed model with this name or alias; its files may be gone."""
    index = read_index()
    wanted = name.lower()
    if found := index.get(name) or index.get(wanted):
        return found
    return next((one for one in index.values() if wanted in one.aliases), None)


def record(model: Installed) -> None:
    """Enter a model into the index. The caller holds the index's lock.

    Raises:
        StorageError: the index cannot be written.
    """
    _write(read_index() | {model.name: model})


def forget(name: str) -> None:
    """Take a model out of the index. The caller holds the index's lock.

    Raises:
        StorageError: the index cannot be written.
    """
    _write({key: one for key, one in read_index().items() if key != name})


def _write(models: dict[str, Installed]) -> None:
    root, file = paths.private_dir(paths.models_dir()), _index_file()
    content = {"format": _FORMAT, "models": {n: _plain(root, one) for n, one in models.items()}}
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(content, indent=1), encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        raise StorageError(f"cannot write {file}: {error.strerror or error}") from error


def _plain(root: Path, model: Installed) -> dict[str, object]:
    values = asdict(model)
    del values["name"]
    values["parts"] = [
        str(one.relative_to(root) if one.is_relative_to(root) else one) for one in model.parts
    ]
    return values
