"""The checks run quick ones first and stop at the first that fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts import check


def names(*, everything: bool) -> list[str]:
    return [step.name for step in check.steps(everything=everything)]


def test_quick_checks_come_first() -> None:
    """Format, lint, types and contracts come before any test."""
    assert names(everything=True) == ["format", "lint", "types", "contracts", "tests"]
    assert names(everything=False) == ["format", "lint", "types", "contracts", "unit tests"]


def test_the_quick_part_leaves_real_models_and_the_installed_program_out() -> None:
    """`make check` runs all tests but those of the two slow folders."""
    assert check.steps(everything=True)[-1].arguments == ()
    assert check.steps(everything=False)[-1].arguments == (
        "--ignore=tests/model",
        "--ignore=tests/e2e",
    )


def test_every_check_is_a_program_of_the_environment() -> None:
    """Each step's program lies beside the interpreter that runs the checks."""
    for step in check.steps(everything=True):
        assert Path(step.command[0]).is_file(), step.command


def test_a_failed_step_is_named_with_its_command(capfd: pytest.CaptureFixture[str]) -> None:
    """The failure tells which step it was and how to repeat it; the exit code is the step's."""
    python = Path(sys.executable).name
    failing = check.Step("lint", python, ("-c", "print('seen'); raise SystemExit(5)"))
    assert check.run(failing) == 5
    out, error = capfd.readouterr()
    assert out == f"== lint: {failing.shown}\nseen\n"
    assert error == f"== lint failed (exit code 5); to repeat it: {failing.shown}\n"
    assert check.run(check.Step("format", python, ("-c", ""))) == 0
    assert "== format: ok, " in capfd.readouterr().out
