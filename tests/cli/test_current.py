"""The settings of a command."""

from pathlib import Path

import pytest

from chatcli.cli import main
from chatcli.cli.current import current_settings


@pytest.mark.parametrize(("value", "offline"), [("", False), ("0", False), ("1", True)])
def test_the_environment_may_forbid_downloads(
    monkeypatch: pytest.MonkeyPatch, value: str, offline: bool
) -> None:
    """CHATCLI_OFFLINE counts unless it is empty or says no; the flag counts always."""
    monkeypatch.setenv("CHATCLI_OFFLINE", value)
    assert current_settings().download.offline is offline
    assert current_settings({"download.offline": True}).download.offline


def test_config_and_doctor_work_in_a_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command reads the settings without a project then."""
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for command in (["config", "show"], ["config", "set", "model", "x"], ["doctor"]):
        assert main.run(command) == 0, command
    assert "No such file" not in capsys.readouterr().err
