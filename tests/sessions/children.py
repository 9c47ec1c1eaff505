"""Real child processes that use a store, for tests of kills and of concurrency."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

START = """
import os, sys
from pathlib import Path
from chatcli.core.errors import ChatcliError
from chatcli.core.event import Delta
from chatcli.core.session import SessionId, TurnId
from chatcli.sessions.sqlite import SqliteStore
from tests.sessions.made import opened, session, turn

def say(line):
    os.write(1, (line + "\\n").encode())

store = SqliteStore(Path(sys.argv[1]))
"""


def start(code: str, *args: str | Path) -> "subprocess.Popen[str]":
    """Start a child that runs `code` after `START`; its arguments begin with the database."""
    return subprocess.Popen(
        [sys.executable, "-c", START + code, *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
