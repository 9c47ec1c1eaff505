"""Names that say nothing do not exist."""

from tests.architecture.source import PACKAGE, shown

FORBIDDEN = {"utils", "util", "helpers", "helper", "common", "manager", "models", "config", "misc"}
COMMANDS = {"chatcli/cli/config.py"}
"""A command's file is named for its command, whatever that is."""


def test_no_module_has_a_name_that_says_nothing() -> None:
    """A module is named for what it knows."""
    names = [*PACKAGE.rglob("*.py"), *(path for path in PACKAGE.rglob("*") if path.is_dir())]
    assert [
        shown(path)
        for path in names
        if path.stem in FORBIDDEN and "_data" not in path.parts and shown(path) not in COMMANDS
    ] == []
