"""Run the checks, quick ones first, and stop at the first that fails.

`make check` runs the quick part; `make test` adds the tests on real models and of the installed
program. Each step prints its name and its command, so that it can be repeated alone.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
SLOW = ("tests/model", "tests/e2e")


@dataclass(frozen=True)
class Step:
    """A named check: a program of the environment that runs this script, with its arguments."""

    name: str
    program: str
    arguments: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """The command line."""
        return [str(BIN / self.program), *self.arguments]

    @property
    def shown(self) -> str:
        """The command line as the user would type it in the clone."""
        inside = BIN.is_relative_to(ROOT)
        program = BIN.relative_to(ROOT) / self.program if inside else BIN / self.program
        return shlex.join([str(program), *self.arguments])


def steps(*, everything: bool) -> list[Step]:
    """All checks in their order."""
    left_out = () if everything else tuple(f"--ignore={folder}" for folder in SLOW)
    return [
        Step("format", "ruff", ("format", "--check", ".")),
        Step("lint", "ruff", ("check", ".")),
        Step("types", "mypy", ("--strict",)),
        Step("contracts", "lint-imports", ("--no-logo",)),
        Step("tests" if everything else "unit tests", "pytest", left_out),
    ]


def run(step: Step) -> int:
    """Run one step, its output straight to ours; the exit code is its own."""
    sys.stdout.write(f"== {step.name}: {step.shown}\n")
    sys.stdout.flush()
    started_s = time.monotonic()
    code = subprocess.run(step.command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
    if code != 0:
        sys.stdout.flush()
        sys.stderr.write(f"== {step.name} failed (exit code {code}); to repeat it: {step.shown}\n")
        return code
    sys.stdout.write(f"== {step.name}: ok, {time.monotonic() - started_s:.1f} s\n")
    return 0


def main() -> int:
    """Run the steps; the exit code is that of the first that failed, else 0."""
    parser = argparse.ArgumentParser(description="Check the code: format, lint, types, tests.")
    parser.add_argument("--all", action="store_true", help="also the slow tests")
    everything = parser.parse_args().all
    return next((code for step in steps(everything=everything) if (code := run(step))), 0)


if __name__ == "__main__":
    sys.exit(main())
