"""Make this clone ready: `.venv`, pinned packages, a llama-cpp-python compiled for this machine.

Run by `make` and good to run by hand, at any time: only what is missing is done. It needs a bare
Python >= 3.11 and a C++ compiler, writes to `.venv`, `.build` and the user's cache, and prints on
stderr only.
"""

# This file must parse on old Pythons, so that they get a sentence instead of a SyntaxError.

import argparse
import os
import signal
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _raise_exit(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    """Set up; the exit code is 0, 1 after an error that was explained, 130 after Ctrl-C."""
    if sys.version_info < (3, 11):
        found = ".".join(str(part) for part in sys.version_info[:3])
        sys.stderr.write(
            "set-up: Python " + found + " is too old, 3.11 or newer is needed; install it, "
            "or name one: make PYTHON=/path/to/python3.12\n"
        )
        return 1
    sys.path.insert(0, ROOT)
    from scripts.bootstrap import run

    signal.signal(signal.SIGTERM, _raise_exit)
    return run.main(ROOT, _arguments())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make this clone ready to run chatcli.")
    parser.add_argument("--dev", action="store_true", help="also what the tests and checks need")
    parser.add_argument(
        "--gpu",
        default=os.environ.get("GPU", ""),
        metavar="VARIANT",
        help="cpu, cuda, vulkan, metal or hip; the last choice is kept",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
