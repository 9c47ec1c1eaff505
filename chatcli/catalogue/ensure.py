"""From what the user calls a model to a file that can be loaded; pulled if need be.

The usual case, a model that is installed, reads one small JSON file and nothing else.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from chatcli.catalogue.index import Installed, find_installed, read_index
from chatcli.catalogue.progress import Progress, Say
from chatcli.core.errors import CorruptModel
from chatcli.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedModel:
    """A model that can be loaded: `path` is the file (of a split one: the first part)."""

    name: str
    path: Path
    n_bytes: int
    sha256: str = ""


def default_reference(settings: Settings) -> str | None:
    """Return the model to use when none is named; None: nothing is installed or chosen.

    The setting `model`, else the model that was installed last.
    """
    if settings.model:
        return settings.model
    here = [one for one in read_index().values() if all(part.is_file() for part in one.parts)]
    return max(here, key=lambda one: one.mtime_ns).name if here else None


def ensure_model(
    reference: str, settings: Settings, *, offline: bool = False, say: Say, progress: Progress
) -> ResolvedModel:
    """Return a model's file; download it first if it is not here.

    Raises:
        ModelNotFound: nothing has this name.
        DownloadError: it is not here and cannot be had, or `offline` forbids it.
        CorruptModel: the installed file has changed, or the download is damaged.
        StorageError: it does not fit on the disk.
    """
    found = find_installed(reference)
    if found and found.unchanged():
        return _resolved(found)
    if found and all(part.is_file() for part in found.parts):
        return _resolved(_verified_again(found, progress))
    from chatcli.catalogue.reference import Downloadable, locate

    place = locate(reference)
    if isinstance(place, Downloadable):
        from chatcli.catalogue.pull import pull

        if offline:
            settings = replace(settings, download=replace(settings.download, offline=True))
        place = pull(place, settings, say=say, progress=progress)
    return _resolved(place)


def _resolved(model: Installed) -> ResolvedModel:
    sha256 = model.sha256[0] if len(model.sha256) == 1 else ""
    return ResolvedModel(name=model.name, path=model.path, n_bytes=model.n_bytes, sha256=sha256)


def _verified_again(model: Installed, progress: Progress) -> Installed:
    """Accept files whose time changed (a copy, a backup) if their content did not."""
    from chatcli.catalogue.index import record, stamped
    from chatcli.catalogue.pull import file_sha256, locked
    from chatcli.gguf import read_header

    now = stamped(model)
    for part in now.parts:
        read_header(part).check_complete()
    sums = tuple(file_sha256(part, progress) for part in now.parts) if model.sha256 else ()
    if now.n_bytes != model.n_bytes or sums != model.sha256:
        raise CorruptModel(
            f"{model.path} is not the file that was installed as {model.name}",
            f"Run `chatcli rm {model.name}`, then `chatcli pull {model.name}`",
        )
    with locked("installed.json"):
        record(now)
    return now
