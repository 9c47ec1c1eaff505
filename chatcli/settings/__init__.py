"""Settings: default < user < project < environment < flag, to one frozen `Settings`.

Reading is `load_settings`, writing the user's file is `chatcli.settings.write`. Nothing here
imports yaml until a settings file is found: the defaults are the dataclasses' own.
"""

from chatcli.settings.load import Loaded, Origin, load_settings
from chatcli.settings.schema import (
    ContextSettings,
    DownloadSettings,
    EngineSettings,
    KvSettings,
    LogSettings,
    ReplySettings,
    SessionSettings,
    Settings,
    TerminalSettings,
)

__all__ = [
    "ContextSettings",
    "DownloadSettings",
    "EngineSettings",
    "KvSettings",
    "Loaded",
    "LogSettings",
    "Origin",
    "ReplySettings",
    "SessionSettings",
    "Settings",
    "TerminalSettings",
    "load_settings",
]
