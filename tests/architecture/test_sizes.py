"""Files and functions stay small, and nothing swallows every error."""

import ast
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, files, nodes, shown

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50
CATCHES_ALL = {"chatcli/cli/main.py"}
"""Where every error becomes one line and an exit code."""


def long_functions(path: Path) -> list[str]:
    """Return the functions of a file that are too long, with their lengths."""
    return [
        f"{node.name}: {length}"
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]


def broad_excepts(path: Path) -> list[int]:
    """Return the lines that swallow everything: a bare except, Exception or BaseException.

    A handler that ends in a bare `raise` tidies up and swallows nothing.
    """
    lines = []
    for node in nodes(path):
        if isinstance(node, ast.ExceptHandler):
            if ast.unparse(node.body[-1]) == "raise":
                continue
            caught = "" if node.type is None else ast.unparse(node.type)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            caught = ", ".join(map(ast.unparse, node.args))
        else:
            continue
        words = caught.strip("()").split(", ")
        if {"", "Exception", "BaseException"} & set(words):
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", files(PACKAGE), ids=shown)
def test_no_file_and_no_function_is_too_long(path: Path) -> None:
    """400 lines a file, 50 a function: what grows beyond is cut where its ideas part."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE_LINES
    assert long_functions(path) == []


@pytest.mark.parametrize("path", files(PACKAGE), ids=shown)
def test_only_the_command_line_catches_every_error(path: Path) -> None:
    """A broad except hides bugs; one place may have it."""
    if shown(path) not in CATCHES_ALL:
        assert broad_excepts(path) == []


def test_the_checks_see_what_they_look_for(tmp_path: Path) -> None:
    """A made-up file with each sin is caught at its line."""
    path = tmp_path / "bad.py"
    body = "\n".join(["    x = 1"] * 50)
    path.write_text(
        "try:\n    pass\nexcept Exception:\n    pass\n"
        "try:\n    pass\nexcept (OSError, BaseException):\n    pass\n"
        "try:\n    pass\nexcept:\n    pass\n"
        "with contextlib.suppress(Exception):\n    pass\n"
        "try:\n    pass\nexcept BaseException:\n    pass\n    raise\n"
        f"try:\n    pass\nexcept OSError:\n    pass\ndef long():\n{body}\n"
    )
    assert sorted(broad_excepts(path)) == [3, 7, 11, 13]
    assert long_functions(path) == ["long: 51"]
