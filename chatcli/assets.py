"""The files of models/ and config/: in the wheel under `_data`, else in the repository root.

It knows where they lie, not what they say.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def _root() -> Traversable:
    packaged = files("chatcli") / "_data"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent


def asset_text(name: str) -> str:
    """Return the text of a shipped file, named as in the repository: "config/default.yaml"."""
    return _root().joinpath(*name.split("/")).read_text(encoding="utf-8")
