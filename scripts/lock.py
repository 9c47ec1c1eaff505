"""Write the lock files: every version pinned, every file of it by hash, no registry named.

`make lock` keeps the versions that are locked already; `make lock UPGRADE=1` takes the newest that
pyproject.toml allows. The resolution is universal: one file serves every platform and every Python
from 3.11 on. Which registry is asked is the user's own setting and never ends up in a file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = "uv==0.13.9"
HEADER = "# Written by `make lock` from pyproject.toml. Do not edit.\n"
LOCKS = {
    "requirements.lock": ["pyproject.toml"],
    "requirements-dev.lock": ["pyproject.toml", "--group=dev", "--constraint=requirements.lock"],
    "requirements-build.lock": ["--group=build"],
}


def resolve(tools: Path, name: str, inputs: list[str], *, upgrade: bool) -> None:
    """Resolve one lock file in place.

    Raises:
        subprocess.CalledProcessError: the resolver failed; it has said why on stderr.
    """
    options = [
        "--universal",
        "--python-version=3.11",
        "--generate-hashes",
        "--no-header",
        "--quiet",
    ]
    options += ["--no-emit-index-url", "--no-emit-find-links", "--no-annotate"]
    if upgrade:
        options.append("--upgrade")
    command = [sys.executable, "-m", "uv", "--no-config", "pip", "compile", *inputs, *options]
    subprocess.run(
        [*command, f"--output-file={name}"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
        env=_environment(tools),
    )
    path = ROOT / name
    path.write_text(HEADER + path.read_text().removeprefix(HEADER))
    sys.stderr.write(f"wrote {name}\n")


def _environment(tools: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tools)}


def main() -> int:
    """Write all lock files; the exit code is the resolver's."""
    parser = argparse.ArgumentParser(description="Write the lock files from pyproject.toml.")
    parser.add_argument("--upgrade", action="store_true", help="take the newest allowed versions")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, UV]
        try:
            subprocess.run(install, check=True, stdout=sys.stderr)
            for name, inputs in LOCKS.items():
                resolve(Path(folder), name, inputs, upgrade=arguments.upgrade)
        except subprocess.CalledProcessError as failed:
            return failed.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
