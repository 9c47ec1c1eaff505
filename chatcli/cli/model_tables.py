"""What `list` and `show` say of models, as plain values."""

import time
from dataclasses import asdict, dataclass
from typing import Literal

from chatcli.catalogue.entries import Entry, find_entry
from chatcli.catalogue.index import Installed, read_index
from chatcli.catalogue.load import load_entries
from chatcli.catalogue.local import local_files
from chatcli.catalogue.progress import readable_bytes
from chatcli.catalogue.pull import describe
from chatcli.catalogue.reference import Downloadable, locate
from chatcli.core.printable import visible_line
from chatcli.gguf import Header, read_model


@dataclass(frozen=True, slots=True)
class Row:
    """A line of `list`. `state`: installed, missing (its file is gone), local, available."""

    name: str
    state: Literal["installed", "missing", "local", "available"]
    n_bytes: int
    path: str = ""
    aliases: tuple[str, ...] = ()
    source: str = ""
    installed_at: float = 0.0

    def plain(self) -> dict[str, object]:
        """Return the row for JSON."""
        return asdict(self)


def rows(*, everything: bool) -> list[Row]:
    """Return the installed models, and with `everything` what else there is or could be."""
    index = read_index()
    found = [_installed(one) for _, one in sorted(index.items())]
    if everything:
        taken = {str(part) for one in index.values() for part in one.parts}
        found += [
            Row(one.name, "local", one.n_bytes, str(one.path), source=one.tool)
            for one in local_files()
            if str(one.path) not in taken
        ]
        found += [
            Row(one.name, "available", one.n_bytes, "", one.aliases, describe(one.sources[0]))
            for one in load_entries()
            if one.name not in index
        ]
    return found


def _installed(model: Installed) -> Row:
    here = all(part.is_file() for part in model.parts)
    return Row(
        model.name,
        "installed" if here else "missing",
        model.n_bytes,
        str(model.path),
        model.aliases,
        model.source,
        model.mtime_ns / 1e9,
    )


def as_table(found: list[Row]) -> str:
    """Return rows as aligned columns: name, size, state, and when or from where."""
    cells = [("NAME", "SIZE", "STATE", "")]
    for row in found:
        when = time.strftime("%Y-%m-%d", time.localtime(row.installed_at))
        last = when if row.installed_at else row.source
        cells.append(
            (visible_line(row.name), readable_bytes(row.n_bytes), row.state, visible_line(last))
        )
    name, size, state = (max(len(row[i]) for row in cells) for i in range(3))
    return "\n".join(
        f"{a:<{name}}  {b:>{size}}  {c:<{state}}  {d}".rstrip() for a, b, c, d in cells
    )


def facts(reference: str) -> dict[str, object]:
    """Return what is known of a model, by key; what is unknown is left out.

    Raises:
        ModelNotFound: nothing has this name.
        CorruptModel: its file is damaged.
    """
    place = locate(reference)
    entry = find_entry(load_entries(), place.name)
    known: dict[str, object] = {"name": place.name}
    if isinstance(place, Installed):
        known |= _of_file(place)
    else:
        known |= _of_offer(place)
    if entry:
        known |= _of_entry(entry)
    return {key: value for key, value in known.items() if value not in ("", 0, [])}


def _of_file(model: Installed) -> dict[str, object]:
    header = read_model(model.path)
    return {
        "state": "installed" if model.owned else "local",
        "files": [str(part) for part in model.parts],
        "bytes": header.file_bytes,
        "sha256": list(model.sha256),
        "from": model.source,
        **_of_header(header),
    }


def _of_header(header: Header) -> dict[str, object]:
    types: dict[str, int] = {}
    for tensor in header.tensors:
        types[tensor.type.name] = types.get(tensor.type.name, 0) + tensor.n_bytes
    layers = range(min(header.n_layers, len(header.tensors)))
    return {
        "title": header.name,
        "architecture": header.architecture,
        "parameters": header.n_parameters,
        "weights": max(types, key=lambda name: types[name]) if types else "",
        "context": header.context_length,
        "layers": header.n_layers,
        "sliding_window": header.sliding_window,
        "kv_bytes_per_token": sum(header.kv_bytes_per_token(layer) for layer in layers),
        "chat_template": "yes" if header.chat_template else "no: not a chat model",
        "licence": header.text("general.license") or "",
    }


def _of_offer(item: Downloadable) -> dict[str, object]:
    return {
        "state": "available",
        "bytes": item.n_bytes,
        "sha256": [item.sha256] if item.sha256 else "unverified until the first pull",
    }


def _of_entry(entry: Entry) -> dict[str, object]:
    values: dict[str, object] = {
        "aliases": list(entry.aliases),
        "parameters": entry.parameters,
        "licence": entry.licence,
        "memory_bytes": entry.memory_bytes,
        "notes": entry.notes,
        "sources": [describe(one) + (" (mirror)" if one.mirror else "") for one in entry.sources],
    }
    if entry.context:
        values["context"] = entry.context
    return values
