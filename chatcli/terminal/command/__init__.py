"""What the slash commands do, grouped by concern; `COMMANDS` is the one table."""

from collections.abc import Mapping

from chatcli.terminal.command import files, look, sessions, talk, tune
from chatcli.terminal.command.leave import commands as leaving
from chatcli.terminal.slash import Command

COMMANDS: tuple[Command, ...] = (
    *leaving(lambda: COMMANDS),
    *talk.COMMANDS,
    *sessions.COMMANDS,
    *files.COMMANDS,
    *tune.COMMANDS,
    *look.COMMANDS,
)

KNOWN: Mapping[str, Command] = {word: command for command in COMMANDS for word in command.words}
"""Every command by every name it goes by."""
