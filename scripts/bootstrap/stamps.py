"""What has been finished in a virtual environment, remembered inside it.

A step's stamp is taken away before the step begins and written after it ended well, so an
interrupted step is never taken for done; with the folder all stamps are gone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path


class Stamps:
    """Named steps and the inputs they were last finished with."""

    def __init__(self, venv: Path) -> None:
        self._path = venv / "chatcli-setup.json"

    def get(self, name: str) -> str:
        """The inputs a step was finished with; empty if it was not."""
        return self._load().get(name, "")

    def put(self, name: str, inputs: str) -> None:
        """Remember a finished step; empty `inputs` forget it."""
        known = self._load()
        known[name] = inputs
        partial = self._path.with_suffix(".partial")
        with partial.open("w") as stream:
            json.dump(known, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(self._path)

    def once(self, name: str, inputs: str, step: Callable[[], None]) -> None:
        """Run a step unless it was finished with the same inputs."""
        if self.get(name) != inputs:
            self.put(name, "")
            step()
            self.put(name, inputs)

    def _load(self) -> dict[str, str]:
        try:
            known = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return {str(k): str(v) for k, v in known.items()} if isinstance(known, dict) else {}
