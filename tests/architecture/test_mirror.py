"""The tests mirror the package, file by file."""

from pathlib import Path

from tests.architecture.source import PACKAGE, TESTS, shown

FREE = {"architecture", "contract", "e2e", "model", "snapshots"}
"""Folders whose tests cross modules on purpose."""


def mirrored(test: Path) -> list[Path]:
    """Return the files that a test may be about: a module, or a package of that name."""
    inside = test.relative_to(TESTS)
    root = TESTS.parent if inside.parts[0] == "scripts" else PACKAGE
    module = root / inside.parent / inside.name.removeprefix("test_")
    return [module, module.with_suffix("") / "__init__.py", module.with_suffix(".sh")]


def test_every_test_file_stands_where_its_module_stands() -> None:
    """`tests/a/test_b.py` is about `chatcli/a/b.py`; a renamed module takes its test along."""
    astray = [
        shown(test)
        for test in sorted(TESTS.rglob("test_*.py"))
        if test.relative_to(TESTS).parts[0] not in FREE
        and not any(path.is_file() for path in mirrored(test))
    ]
    assert astray == []


def test_no_test_hides_under_another_name() -> None:
    """Tests are named test_*.py, so that pytest and the mirror see them."""
    hidden = [
        shown(path)
        for path in TESTS.rglob("*.py")
        if not path.name.startswith("test_") and "\ndef test_" in path.read_text(encoding="utf-8")
    ]
    assert hidden == []
