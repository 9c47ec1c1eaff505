"""Removes installed models; files of the user and of other tools are left alone."""

from contextlib import suppress
from pathlib import Path

from chatcli import paths
from chatcli.catalogue.index import Installed, find_installed, forget
from chatcli.catalogue.pull import locked
from chatcli.catalogue.reference import Downloadable, locate
from chatcli.catalogue.staging import storage_error
from chatcli.core.errors import ModelNotFound, UsageError


def removable(reference: str) -> tuple[str, list[Path], int]:
    """Return a model's name, the files that `remove` would delete, and their bytes.

    Unfinished downloads count. No files and no error: only the entry would be removed.

    Raises:
        ModelNotFound: it is not installed.
        UsageError: the file is not ours.
    """
    found = find_installed(reference)
    if found is None:
        place = locate(reference)
        if isinstance(place, Installed):
            raise UsageError(
                f"{place.path} was not installed by chatcli",
                "Remove it with the tool that it belongs to",
            )
        files = unfinished(place)
        if not files:
            raise ModelNotFound(f"{place.name} is not installed", "`chatcli list` shows what is")
        return place.name, files, _bytes(files)
    files = [part for part in found.parts if part.is_file()] if found.owned else []
    return found.name, files, _bytes(files)


def unfinished(item: Downloadable) -> list[Path]:
    """Return the partial files of a model."""
    pattern = f"{item.file}.partial*" if item.file else "*.partial*"
    return sorted(item.folder.glob(pattern))


def _bytes(files: list[Path]) -> int:
    return sum(path.stat().st_size for path in files)


def remove(name: str, files: list[Path]) -> None:
    """Delete a model's files and take it out of the index.

    Raises:
        StorageError: a file cannot be deleted.
    """
    with locked(name):
        for path in files:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise storage_error(path, error) from error
            _tidy(path.parent)
        with locked("installed.json"):
            forget(name)


def _tidy(folder: Path) -> None:
    """Remove folders that became empty, up to the models folder."""
    root = paths.models_dir()
    with suppress(OSError):  # not empty: the end of the way up
        while folder != root and folder.is_relative_to(root):
            folder.rmdir()
            folder = folder.parent
