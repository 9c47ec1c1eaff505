"""The tables, and how they came about: one named function for each step.

All pending steps run in one transaction with their records, and `PRAGMA user_version`
counts them, so that opening an up-to-date file needs neither sqlite-utils nor a query.
A step that stands in a release is never changed: a new one is added below it.
"""

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION_ID = 0x43484154
"""`PRAGMA application_id`: "CHAT"; tells our files from other programs' databases."""


def sessions_and_turns(db: "Database") -> None:
    """Make the tables of sessions, their trees of turns, and the token ids of each turn.

    `seq` is the order of arrival. `words` is the plain text of a finished turn, which the
    search index reads. An open turn (state "open") has its question, and its reply is in
    the journal. Columns that hold values of `core` are JSON.
    """
    _sessions(db)
    _turns(db)
    _tokens(db)


def _sessions(db: "Database") -> None:
    db.table("sessions").create(
        {
            "seq": int,
            "id": str,
            "kind": str,
            "model": str,
            "clock": float,
            "system": str,
            "sampling": str,
            "title": str,
            "head": str,
            "updated_at": float,
        },
        pk="seq",
        not_null={"id", "kind", "model", "clock", "system", "sampling", "title", "updated_at"},
    )
    db.table("sessions").create_index(["id"], unique=True)
    db.table("sessions").create_index(["updated_at"])


def _turns(db: "Database") -> None:
    db.table("turns").create(
        {
            "seq": int,
            "id": str,
            "session": str,
            "parent": str,
            "state": str,
            "asked": str,
            "reply": str,
            "words": str,
            "route": str,
            "finish": str,
            "started_at": float,
            "usage": str,
            "verdicts": str,
            "cut": str,
        },
        pk="seq",
        not_null={"id", "session", "state", "asked", "reply", "words", "route", "finish"},
        foreign_keys=[("session", "sessions", "id"), ("parent", "turns", "id")],
    )
    db.table("turns").create_index(["id"], unique=True)
    db.table("turns").create_index(["session", "seq"])
    db.table("turns").create_index(["parent"])
    db.execute("CREATE INDEX turns_open ON turns (session) WHERE state = 'open'")


def _tokens(db: "Database") -> None:
    db.table("tokens").create(
        {
            "turn": str,
            "fingerprint": str,
            "keep": int,
            "thought": int,
            "prompt": bytes,
            "reply": bytes,
        },
        pk=("turn", "fingerprint"),
        not_null={"keep", "thought", "prompt", "reply"},
        foreign_keys=[("turn", "turns", "id")],
    )


MIGRATIONS: tuple[Callable[["Database"], None], ...] = (sessions_and_turns,)
VERSION = len(MIGRATIONS)


def migrate(conn: sqlite3.Connection) -> None:
    """Bring the file up to `VERSION`, or leave it as it is if a step fails."""
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    steps = Migrations("chatcli.sessions")
    for step in MIGRATIONS:
        steps(name=step.__name__)(step)
    db = Database(conn, execute_plugins=False)
    with db.atomic():
        steps.apply(db)
        db.execute(f"PRAGMA user_version = {VERSION}")


# -- the search index --------------------------------------------------------------------

_TRIGGERS = ("turns_ai", "turns_ad", "turns_au")


def has_fts5(conn: sqlite3.Connection) -> bool:
    """Say whether this SQLite library was built with FTS5."""
    row = conn.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone()
    return row is not None


def is_indexed(conn: sqlite3.Connection) -> bool:
    """Say whether the triggers that feed the search index are there."""
    row = conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'turns_ai'").fetchone()
    return row is not None


def add_index(conn: sqlite3.Connection) -> None:
    """Make the search index over `turns.words`, or fill it anew after a time without it."""
    from sqlite_utils import Database

    db = Database(conn, execute_plugins=False)
    with db.atomic():
        if db.table("turns_fts").exists():
            db.table("turns").disable_fts()
        db.table("turns").enable_fts(
            ["words"], create_triggers=True, tokenize="unicode61 remove_diacritics 2"
        )


def detach_index(conn: sqlite3.Connection) -> None:
    """Stop feeding the index: this SQLite has no FTS5, and the triggers would fail.

    The index itself stays, stale, until a library with FTS5 opens the file again.
    """
    for trigger in _TRIGGERS:
        conn.execute(f"DROP TRIGGER IF EXISTS {trigger}")
