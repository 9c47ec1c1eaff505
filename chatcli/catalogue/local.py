"""GGUF files that other tools keep on this machine: found and used where they lie.

Nothing here writes. A tool's folder that is missing, unreadable or damaged counts as empty.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chatcli import paths

_MODEL_LAYER = "application/vnd.ollama.image.model"
_LATER_PART = re.compile(r"-(?!00001)\d{5}-of-\d{5}\.gguf$")


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A model of another tool: `name` is what ``-m`` takes."""

    name: str
    tool: str
    path: Path
    n_bytes: int


def local_files() -> list[LocalFile]:
    """Return the models of ollama, LM Studio, the Hugging Face cache and llama.cpp, by name."""
    found: dict[str, LocalFile] = {}
    for tool, finder in (
        ("ollama", _ollama),
        ("lmstudio", _lm_studio),
        ("hf-cache", _hub_cache),
        ("llama.cpp", _llama_cpp),
    ):
        for name, path in finder():
            full = f"{tool}/{name}"
            try:
                n_bytes = path.stat().st_size
            except OSError:
                continue
            found.setdefault(full, LocalFile(full, tool, path, n_bytes))
    return [found[name] for name in sorted(found)]


def find_local(name: str) -> LocalFile | None:
    """Return the local file with this name, with or without the tool in front."""
    known = local_files()
    exact = [one for one in known if one.name == name]
    short = [one for one in known if one.name.partition("/")[2] == name]
    return next(iter(exact or short), None)


def find_by_sha256(sha256: str) -> Path | None:
    """Return a file that another tool has filed under this checksum.

    ollama and the Hugging Face cache name their blobs by it. The content is not read: the
    caller checks it before it relies on it.
    """
    candidates = [root / "blobs" / f"sha256-{sha256}" for root in _ollama_roots()]
    for root in _hub_roots():
        candidates += [repo / "blobs" / sha256 for repo in _children(root)]
    return next((path for path in candidates if path.is_file()), None)


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder; links to files are followed, links to folders are not."""
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            yield Path(root) / name


def _weights(folder: Path) -> Iterator[Path]:
    for path in _below(folder):
        name = path.name.lower()
        if name.endswith(".gguf") and "mmproj" not in name and not _LATER_PART.search(name):
            yield path


def _variable(*names: str) -> Path | None:
    values = (os.environ.get(name, "") for name in names)
    return next((paths.expanded(value) for value in values if value), None)


def _at_home(*names: str) -> list[Path]:
    """Return a folder in the user's home; none for a user without one."""
    home = paths.home()
    return [home.joinpath(*names)] if home else []


def _in_cache(*names: str) -> list[Path]:
    own = _variable("XDG_CACHE_HOME")
    return [own.joinpath(*names)] if own else _at_home(".cache", *names)


def _ollama_roots() -> list[Path]:
    own = _variable("OLLAMA_MODELS")
    system = [Path("/usr/share/ollama/.ollama/models"), Path("/var/lib/ollama/models")]
    return [own] if own else [*_at_home(".ollama", "models"), *system]


def _ollama() -> Iterator[tuple[str, Path]]:
    """Follow ollama's manifests: ``HOST/NAMESPACE/MODEL/TAG`` -> the digest of the weights."""
    for root in _ollama_roots():
        for manifest in _below(root / "manifests"):
            words = manifest.relative_to(root / "manifests").parts
            digest = _ollama_digest(manifest)
            if len(words) < 2 or digest is None:
                continue
            host = words[:-2] if words[0] != "registry.ollama.ai" else words[1:-2]
            space = () if host == ("library",) else host
            blob = root / "blobs" / digest.replace(":", "-")
            yield "/".join((*space, f"{words[-2]}:{words[-1]}")), blob


def _ollama_digest(manifest: Path) -> str | None:
    try:
        layers = json.loads(manifest.read_text(encoding="utf-8"))["layers"]
        digests = [str(one["digest"]) for one in layers if one["mediaType"] == _MODEL_LAYER]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    good = [one for one in digests if re.fullmatch(r"sha256:[0-9a-f]{64}", one)]
    return good[0] if good else None


def _lm_studio() -> Iterator[tuple[str, Path]]:
    for root in (*_at_home(".lmstudio", "models"), *_in_cache("lm-studio", "models")):
        for path in _weights(root):
            yield str(path.relative_to(root)), path


def _hub_roots() -> list[Path]:
    if own := _variable("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        return [own]
    if home := _variable("HF_HOME"):
        return [home / "hub"]
    return _in_cache("huggingface", "hub")


def _hub_cache() -> Iterator[tuple[str, Path]]:
    for root in _hub_roots():
        for repo in _children(root):
            if not repo.name.startswith("models--"):
                continue
            name = repo.name.removeprefix("models--").replace("--", "/", 1)
            for snapshot in _snapshots(repo):
                for path in _weights(snapshot):
                    yield f"{name}/{path.relative_to(snapshot)}", path


def _snapshots(repo: Path) -> list[Path]:
    """Return the revision that `main` means, then the others, which show what it lacks."""
    main = _main_revision(repo)
    return sorted(_children(repo / "snapshots"), key=lambda one: one.name != main)


def _main_revision(repo: Path) -> str:
    try:
        return (repo / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _llama_cpp() -> Iterator[tuple[str, Path]]:
    own = _variable("LLAMA_CACHE")
    roots = [*_in_cache("llama.cpp"), *_at_home("Library", "Caches", "llama.cpp")]
    for root in [own] if own else roots:
        for path in _weights(root):
            yield str(path.relative_to(root)), path
