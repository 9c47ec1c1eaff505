"""Finds the folders `models/` and `config/`: in an installed package or in a checkout.

A wheel carries them under ``chatcli/_data``; in a checkout they lie beside the package.
`importlib.resources` is not used: it costs 10 ms at start-up, and the package is never
run from a zip file (llama.cpp's libraries could not be loaded from one).
"""

from pathlib import Path

from chatcli.core.errors import StorageError

_PACKAGE = Path(__file__).resolve().parent


def asset_path(name: str) -> Path:
    """Return the file of an asset such as ``models/catalogue.yaml``.

    Raises:
        StorageError: the installation is incomplete.
    """
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        if (root / name).is_file():
            return root / name
    raise StorageError(f"{name} is missing from this installation", "Install chatcli again")


def asset_text(name: str) -> str:
    """Return the text of an asset.

    Raises:
        StorageError: the installation is incomplete, or the file cannot be read.
    """
    path = asset_path(name)
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
