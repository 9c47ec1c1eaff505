"""Every test says which fact it states (ruff sees to the package itself)."""

import ast
from pathlib import Path

import pytest

from tests.architecture.source import TESTS, nodes, shown


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=shown)
def test_every_test_states_its_fact(path: Path) -> None:
    """A test function without a docstring leaves the reader to guess."""
    silent = [
        node.name
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert silent == []
