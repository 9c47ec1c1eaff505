"""The doctor names what is wrong and what to do, and says whether chat can work."""

import json
import os
from pathlib import Path

import pytest

from chatcli.cli.doctor import Finding, cpu_features, examine, line
from chatcli.cli.main import run


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_a_fresh_machine_works_and_lacks_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is installed: chat can work, and the remedy is to pull."""
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "chatcli pull smollm2:135m" in out
    assert out.rstrip().endswith("chat works here")


def test_a_broken_setting_means_that_chat_cannot_work(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, with the file and the nearest key."""
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "chatcli" / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("modell: x\n")
    assert run(["doctor", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["works"] is False
    failed = [f for f in report["findings"] if f["state"] == "failed"]
    assert [f["name"] for f in failed] == ["settings"]
    assert "modell" in failed[0]["detail"]
    assert "config.yaml" in failed[0]["detail"]


def test_a_corrupt_database_is_found_and_left_alone() -> None:
    """It does not keep chat from working without a log, so it is not fatal."""
    file = Path(os.environ["XDG_DATA_HOME"]) / "chatcli" / "sessions.db"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"this is no database" * 100)
    found = {finding.name: finding for finding in examine()}
    assert found["sessions"].state == "failed"
    assert not found["sessions"].needed
    assert file.read_bytes() == b"this is no database" * 100


def test_features_are_read_from_the_librarys_own_line() -> None:
    """Only those that are on."""
    info = "CPU : SSE3 = 1 | AVX = 1 | AVX512 = 0 | OPENMP = 1 | "
    assert cpu_features(info) == "SSE3 AVX OPENMP"
    assert cpu_features("") == "none"


def test_a_finding_is_one_line_and_its_remedy_another() -> None:
    """Control characters in names are shown."""
    text = line(Finding("model", "warning", "a\x1b[2J", "do this"))
    assert text.splitlines() == [
        "warning  model      a\u241b[2J",
        "                    -> do this",
    ]
