"""Logs have a cap, are private, and never get in the way."""

import json
from pathlib import Path

import pytest

from chatcli import log


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of our own; returns where the logs go."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "chatcli" / "logs"


def test_nothing_is_made_until_something_is_written(state: Path) -> None:
    """Asking for a log makes no folder."""
    logger = log.open_log("llama")
    assert not state.exists()
    logger.warning("two\nlines \x1b and %s", "\ud800")
    (line,) = (state / "llama.log").read_text().splitlines()
    assert "two\\nlines" in line
    assert (state / "llama.log").stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == 0o700


def test_the_cap_holds_and_one_file_before_is_kept(state: Path) -> None:
    """Two files of the cap's size are the most."""
    logger = log.open_log("llama", max_bytes=1000)
    for n in range(200):
        logger.info("line %d", n)
    sizes = {path.name: path.stat().st_size for path in state.iterdir()}
    assert set(sizes) == {"llama.log", "llama.log.1"}
    assert max(sizes.values()) <= 1000
    assert "line 199" in (state / "llama.log").read_text()


def test_one_long_line_does_not_break_the_cap(state: Path) -> None:
    """It is cut."""
    log.open_log("llama", max_bytes=500).info("x" * 10_000)
    assert (state / "llama.log").stat().st_size <= 500


def test_a_log_is_opened_once(state: Path) -> None:
    """Asking twice does not write each line twice; the last cap holds."""
    log.open_log("llama", max_bytes=10)
    log.open_log("llama").info("once")
    assert len((state / "llama.log").read_text().splitlines()) == 1


def test_metrics_are_json_lines(state: Path) -> None:
    """Each with its time; a row that is too long is left out whole."""
    log.append_metrics("turns", {"ttft_s": 0.25, "model": "m\n"})
    log.append_metrics("turns", {"long": "x" * 30_000})
    (line,) = (state / "turns.jsonl").read_text().splitlines()
    row = json.loads(line)
    assert row["ttft_s"] == 0.25
    assert row["at"] > 1e9


def test_a_log_that_cannot_be_written_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only home must not stop a chat."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    log.open_log("llama").error("lost")
    log.append_metrics("turns", {})
