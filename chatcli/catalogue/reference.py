"""What the user means by ``-m``: a name, a file, a place on the hub, another tool's model."""

import difflib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from chatcli import paths
from chatcli.catalogue.entries import Entry, FileSource, HubSource, Source, UrlSource, find_entry
from chatcli.catalogue.index import Installed, find_installed, stamped
from chatcli.core.errors import ModelNotFound, UsageError

_HUB_PREFIXES = (
    *("https://huggingface.co/", "https://hf.co/", "huggingface.co/"),
    *("hf.co/", "hf://"),
)
_HUB = re.compile(
    r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)"
    r"(/(?:resolve/[^/]+/|blob/[^/]+/)?(?P<file>[\w.+/ -]+?\.gguf))?"
    r"(:(?P<quant>[\w.-]+))?/?"
)
_HUB_REMEDY = "Write hf.co/USER/REPO, hf.co/USER/REPO:QUANT or hf://USER/REPO/FILE.gguf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloadable:
    """A model that can be had. `folder` is where its file or files will lie.

    `sha256` "" means unknown; `n_bytes` is then approximate, and 0 if unknown.
    """

    name: str
    sources: tuple[Source, ...]
    folder: Path
    file: str = ""
    aliases: tuple[str, ...] = ()
    sha256: str = ""
    n_bytes: int = 0


def locate(reference: str) -> Installed | Downloadable:
    """Find a model: on this machine, else where it can be had.

    Raises:
        ModelNotFound: nothing has this name; the hint says what comes near.
        UsageError: the reference makes no sense.
    """
    if at_place := locate_place(reference):
        return at_place
    found = find_installed(reference)
    if found and all(part.is_file() for part in found.parts):
        return found
    return _locate_name(reference)


def locate_place(reference: str) -> Installed | Downloadable | None:
    """Find a model that is named by its place: a file, the hub, an address."""
    if not reference.strip():
        raise UsageError("the name of the model is empty", "`chatcli list --all` shows the names")
    for prefix in _HUB_PREFIXES:
        if reference.startswith(prefix):
            return _installed_or(_on_hub(reference.removeprefix(prefix), reference))
    if reference.startswith(("https://", "http://")):
        return _installed_or(_at_address(reference))
    path = paths.expanded(reference)
    if reference.lower().endswith(".gguf") or reference.startswith(("/", "./", "../", "~")):
        return own_file(path) if path.exists() or _is_plain_path(reference) else None
    return None


def _is_plain_path(reference: str) -> bool:
    """Tell a mistyped path from another tool's model, whose name may end in .gguf as well."""
    return not reference.startswith(("ollama/", "lmstudio/", "hf-cache/", "llama.cpp/"))


def own_file(path: Path) -> Installed:
    """Return the user's own file as a model; it is used where it lies.

    Raises:
        ModelNotFound: there is no such file.
    """
    if not path.is_file():
        what = "a folder, not a file" if path.is_dir() else "not there"
        if path.exists() and not path.is_dir():
            what = "not a regular file"
        near = difflib.get_close_matches(path.name, _names_beside(path), n=1)
        hint = f"Did you mean {path.with_name(near[0])}?" if near else "See the path"
        raise ModelNotFound(f"{path} is {what}", hint)
    full = path.absolute()
    return stamped(
        Installed(name=str(full), parts=(full,), n_bytes=0, source=str(full), owned=False)
    )


def _names_beside(path: Path) -> list[str]:
    try:
        return [one.name for one in path.parent.iterdir() if one.suffix.lower() == ".gguf"]
    except OSError:
        return []


def _installed_or(item: Downloadable) -> Installed | Downloadable:
    found = find_installed(item.name)
    return found if found and all(part.is_file() for part in found.parts) else item


def _on_hub(rest: str, reference: str) -> Downloadable:
    found = _HUB.fullmatch(rest)
    if not found or ".." in rest:
        raise UsageError(f"{reference} is not a place on the hub", _HUB_REMEDY)
    repo, file, quant = found["repo"], found["file"] or "", found["quant"] or ""
    if file and quant:
        raise UsageError(f"{reference} names a file and a quantisation", _HUB_REMEDY)
    name = f"hf.co/{repo}" + (f"/{file}" if file else "") + (f":{quant}" if quant else "")
    return Downloadable(
        name=name,
        sources=(HubSource(repo, file, quant),),
        folder=paths.models_dir() / "hf.co" / repo,
    )


def _at_address(url: str) -> Downloadable:
    file = url.partition("?")[0].rpartition("/")[2]
    if not file.lower().endswith(".gguf"):
        raise UsageError(f"{url} does not end in the name of a .gguf file", "See the address")
    host = url.split("/")[2].rpartition("@")[2].replace(":", "-")
    return Downloadable(
        name=url,
        sources=(UrlSource(url),),
        folder=paths.models_dir() / "web" / host,
        file=file,
    )


def downloadable(entry: Entry) -> Downloadable:
    """Return what a catalogue entry offers."""
    return Downloadable(
        name=entry.name,
        sources=entry.sources,
        folder=paths.models_dir() / entry.name.replace(":", "-"),
        file=entry.file,
        aliases=entry.aliases,
        sha256=entry.sha256,
        n_bytes=entry.n_bytes,
    )


def _locate_name(reference: str) -> Installed | Downloadable:
    # Parsing the catalogue and looking through other tools' folders takes a tenth of a
    # second: only for names that the index does not have.
    from chatcli.catalogue.load import load_entries
    from chatcli.catalogue.local import find_local, local_files

    entries = load_entries()
    if entry := find_entry(entries, reference):
        for source in entry.sources:
            if isinstance(source, FileSource) and source.path.is_file() and not entry.sha256:
                return replace(own_file(source.path), name=entry.name)
        return _installed_or(downloadable(entry))
    if local := find_local(reference):
        return stamped(
            Installed(
                name=local.name, parts=(local.path,), n_bytes=0, source=local.tool, owned=False
            )
        )
    raise _not_found(reference, entries, [one.name for one in local_files()])


def _not_found(reference: str, entries: tuple[Entry, ...], others: list[str]) -> ModelNotFound:
    wanted = reference.lower()
    begun = [entry.name for entry in entries if entry.name.startswith(wanted)]
    if len(begun) > 1:
        return ModelNotFound(f"several models begin with {reference!r}", ", ".join(begun))
    names = [name for entry in entries for name in (entry.name, *entry.aliases)] + others
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    hint = f"Did you mean {', '.join(near)}?" if near else "`chatcli list --all` shows the names"
    return ModelNotFound(f"no model is called {reference!r}", hint)
