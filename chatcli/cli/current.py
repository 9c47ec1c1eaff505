"""The settings that hold for a command."""

import os
from dataclasses import replace

from chatcli.settings import Settings


def current_settings(*, offline: bool = False) -> Settings:
    """Return the settings of the environment and the flag."""
    settings = Settings(model=os.environ.get("CHATCLI_MODEL") or None)
    forbidden = os.environ.get("CHATCLI_OFFLINE", "").lower() not in ("", "0", "false", "no")
    hub = os.environ.get("CHATCLI_DOWNLOAD_HUB") or settings.download.hub
    download = replace(settings.download, offline=offline or forbidden, hub=hub)
    return replace(settings, download=download)
