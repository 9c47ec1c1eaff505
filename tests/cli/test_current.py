"""The settings of a command."""

import pytest

from chatcli.cli.current import current_settings


@pytest.mark.parametrize(("value", "offline"), [("", False), ("0", False), ("1", True)])
def test_the_environment_may_forbid_downloads(
    monkeypatch: pytest.MonkeyPatch, value: str, offline: bool
) -> None:
    """CHATCLI_OFFLINE counts unless it is empty or says no; the flag counts always."""
    monkeypatch.setenv("CHATCLI_OFFLINE", value)
    assert current_settings().download.offline is offline
    assert current_settings({"download.offline": True}).download.offline
