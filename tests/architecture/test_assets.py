"""What models/ and config/ hold is in the wheel: all of it, and nothing else."""

import subprocess
import tomllib

from tests.architecture.source import ROOT


def test_the_wheel_carries_exactly_what_git_tracks() -> None:
    """Named file by file, because a whole folder would take stray weights along."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "models", "config"],
        check=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    tracked = {name for name in listed.stdout.split("\0") if name}
    assert wheel["force-include"] == {name: f"chatcli/_data/{name}" for name in tracked}
