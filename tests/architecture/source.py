"""The source of the package, as the tests of its architecture see it."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "chatcli"
TESTS = ROOT / "tests"


def files(folder: Path) -> list[Path]:
    """Return the Python files of a folder, sorted."""
    return sorted(folder.rglob("*.py"))


def shown(path: Path) -> str:
    """Return a path relative to the repository."""
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    """Return the dotted name of a file: chatcli/core/usage.py is chatcli.core.usage."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def nodes(path: Path) -> Iterator[ast.AST]:
    """Yield every node of a file's syntax tree."""
    yield from ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path)))
