"""A file that is not ours to write is refused, and left as it was."""

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from chatcli.core.errors import StorageError, StoreError
from chatcli.sessions import schema
from chatcli.sessions.sqlite import SqliteStore
from tests.sessions.children import start
from tests.sessions.made import session


def _made(file: Path) -> None:
    with SqliteStore(file) as store:
        store.create(session(title="precious"))


def test_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    """Not a byte of the folder changes."""
    file = tmp_path / "sessions.db"
    _made(file)
    data = bytearray(file.read_bytes())
    struct.pack_into(">i", data, 60, schema.VERSION + 1)
    file.write_bytes(data)
    file.chmod(0o644)
    before = {p.name: (p.stat().st_mtime_ns, p.stat().st_mode) for p in tmp_path.iterdir()}
    with pytest.raises(StoreError, match="newer chatcli") as caught:
        SqliteStore(file)
    assert "Update chatcli" in caught.value.hint
    assert file.read_bytes() == data
    assert before == {p.name: (p.stat().st_mtime_ns, p.stat().st_mode) for p in tmp_path.iterdir()}


def test_a_newer_version_in_the_wal_is_refused_untouched(tmp_path: Path) -> None:
    """A newer program that was killed has its version in the WAL only."""
    file = tmp_path / "sessions.db"
    _made(file)
    child = start(
        'store._db.conn.execute("PRAGMA user_version = 99")\nsay("x")\nsys.stdin.read()', file
    )
    assert child.stdout is not None
    child.stdout.readline()
    child.kill()
    child.communicate()
    data, wal = file.read_bytes(), file.with_name("sessions.db-wal").read_bytes()
    assert wal
    with pytest.raises(StoreError, match="newer chatcli"):
        SqliteStore(file)
    assert file.read_bytes() == data
    assert file.with_name("sessions.db-wal").read_bytes() == wal


@pytest.mark.parametrize("content", [b"not a database", b"x" * 5000, b"SQLite format 3\0"])
def test_what_is_no_database_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    """The remedy keeps the file."""
    file = tmp_path / "sessions.db"
    file.write_bytes(content)
    with pytest.raises(StoreError, match="damaged") as caught:
        SqliteStore(file)
    assert "mv " in caught.value.hint
    assert file.read_bytes() == content


def test_another_programs_database_is_refused_untouched(tmp_path: Path) -> None:
    """Our tables are not put into it."""
    file = tmp_path / "sessions.db"
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE bookmarks (url)")
    data = file.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(file)
    assert file.read_bytes() == data


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    """A creation that was broken off at once is no damage."""
    file = tmp_path / "sessions.db"
    file.touch()
    _made(file)
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    """As is a file in the place of the folder."""
    (tmp_path / "sessions.db").mkdir()
    with pytest.raises(StoreError, match="cannot read"):
        SqliteStore(tmp_path / "sessions.db")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError):
        SqliteStore(tmp_path / "file" / "sessions.db")


def test_a_failing_step_leaves_the_database_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a migration is none, and the next try does all of it."""

    def add_notes(db: object) -> None:
        del db
        raise sqlite3.OperationalError("no such luck")

    file = tmp_path / "sessions.db"
    _made(file)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_notes))
        patch.setattr(schema, "VERSION", schema.VERSION + 1)
        with pytest.raises(StoreError):
            SqliteStore(file)
    with SqliteStore(file) as store:
        assert store.sessions()[0].title == "precious"


def test_each_step_is_recorded_by_name(tmp_path: Path) -> None:
    """sqlite-utils keeps the names, SQLite the count."""
    file = tmp_path / "sessions.db"
    _made(file)
    with closing(sqlite3.connect(file)) as conn:
        names = [row[0] for row in conn.execute("SELECT name FROM _sqlite_migrations")]
        assert names == [step.__name__ for step in schema.MIGRATIONS]
        assert conn.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
        assert conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_opening_again_loads_no_sqlite_utils(tmp_path: Path) -> None:
    """An up-to-date file is opened with what Python has; sqlite-utils takes 0.1 s."""
    file = tmp_path / "sessions.db"
    _made(file)
    child = start("store.latest()\nsay(str('sqlite_utils' in sys.modules))", file)
    assert child.communicate(timeout=60)[0] == "False\n"
