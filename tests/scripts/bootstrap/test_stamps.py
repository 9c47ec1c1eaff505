"""Finished steps are remembered; interrupted ones are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.bootstrap.stamps import Stamps


def test_a_finished_step_is_not_run_again(tmp_path: Path) -> None:
    """A step runs once for the same inputs, in later runs too, and again for other inputs."""
    runs: list[str] = []
    Stamps(tmp_path).once("packages", "a", lambda: runs.append("a"))
    Stamps(tmp_path).once("packages", "a", lambda: runs.append("a again"))
    Stamps(tmp_path).once("packages", "b", lambda: runs.append("b"))
    assert runs == ["a", "b"]


def test_an_interrupted_step_loses_its_old_stamp(tmp_path: Path) -> None:
    """While a step is at work its stamp is away, so Ctrl-C leaves it undone, whatever it was."""
    stamps = Stamps(tmp_path)
    stamps.put("native", "old")

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stamps.once("native", "new", interrupted)
    assert Stamps(tmp_path).get("native") == ""


@pytest.mark.parametrize("damage", ["", "{", "[]", '"text"', "\x00"])
def test_a_damaged_stamp_file_means_nothing_is_done(tmp_path: Path, damage: str) -> None:
    """A stamp file that cannot be read counts as none, and is written anew."""
    stamps = Stamps(tmp_path)
    stamps.put("venv", "3.11")
    (tmp_path / "chatcli-setup.json").write_text(damage)
    assert stamps.get("venv") == ""
    stamps.put("venv", "3.12")
    assert stamps.get("venv") == "3.12"
