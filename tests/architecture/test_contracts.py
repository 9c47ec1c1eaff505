"""Who may import whom: the contracts of pyproject.toml hold."""

import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT


def test_the_import_contracts_hold() -> None:
    """import-linter finds no import that goes up, sideways or in a circle."""
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-cache", "--no-logo"], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
