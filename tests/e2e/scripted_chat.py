"""The program with a scripted engine: run by the tests in a child process.

Arguments: the command line of chatcli. PAUSE_S is slept before each piece of a reply,
LOAD_S while a model is loaded; the model called broken cannot be loaded.
"""

import os
import sys
import time

from chatcli.app import App
from chatcli.cli.main import run
from chatcli.core.errors import LoadError
from chatcli.settings import Settings
from chatcli.testing import ScriptedEngine

LONG = [f"word{number} " for number in range(2000)]


class Engines(ScriptedEngine):
    """Says a long reply to a question that asks for one, and echoes any other."""

    def __init__(self) -> None:
        super().__init__([], pause_s=float(os.environ.get("PAUSE_S", "0")))

    def engine(self, model: str) -> ScriptedEngine:
        """Take a while."""
        time.sleep(float(os.environ.get("LOAD_S", "0")))
        if model == "broken":
            raise LoadError("broken cannot be loaded", "Choose another model")
        return super().engine(model)

    def _echo(self, prompt: object) -> list[str]:
        pieces = super()._echo(prompt)  # type: ignore[arg-type]  # the port's Prompt
        return LONG if "long" in "".join(pieces) else pieces


def main() -> None:
    """Run one command line."""

    def app(settings: Settings) -> App:
        return App(settings, engines=Engines())

    sys.exit(run(sys.argv[1:], app_factory=app))


if __name__ == "__main__":
    main()
