"""A turn survives what can happen to a process; several processes may use one file."""

import random
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatcli.core.errors import SessionBusy, SessionNotFound, StorageError, StoreError
from chatcli.core.event import Delta
from chatcli.core.message import Message, Reasoning, Text
from chatcli.core.session import Session, SessionId
from chatcli.sessions.sqlite import SqliteStore
from tests.sessions.children import start
from tests.sessions.made import opened, session, turn


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the database goes."""
    return tmp_path / "data" / "sessions.db"


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    """A new store."""
    with SqliteStore(file) as made:
        yield made


def _left_open(store: SqliteStore, *pieces: Delta) -> Session:
    """Begin a turn, and close the store in the middle of it, as a crash would."""
    made = session()
    store.create(made)
    draft = store.begin(made.id, opened(turn("the question", name="broken")))
    for piece in pieces:
        draft.append(piece)
    store.close()
    return made


# -- recovery ----------------------------------------------------------------------------


def test_a_broken_off_turn_keeps_question_and_shown_part(store: SqliteStore, file: Path) -> None:
    """It becomes an interrupted turn, and the head is on it."""
    made = _left_open(
        store, Delta("reasoning", "hm"), Delta("text", "Hel"), Delta("text", "lo \ud800 \u6f22")
    )
    with SqliteStore(file) as again:
        (kept,) = again.turns(made.id)
        assert kept.asked[0].text == "the question"
        assert kept.reply == Message("assistant", (Reasoning("hm"), Text("Hello \ud800 \u6f22")))
        assert kept.finish == "interrupted"
        assert again.get(made.id).head == kept.id
        assert again.search("question")
        assert not list((file.parent / "journal").iterdir())


def test_a_question_without_any_reply_is_kept(store: SqliteStore, file: Path) -> None:
    """Killed before the first token: the question was durable at once."""
    made = _left_open(store)
    with SqliteStore(file) as again:
        (kept,) = again.turns(made.id)
        assert kept.reply == Message("assistant", ())


@pytest.mark.parametrize("n_lost", [1, 5, 9, 12])
def test_a_torn_last_piece_is_dropped(store: SqliteStore, file: Path, n_lost: int) -> None:
    """Whatever is left of it: the pieces before it are kept."""
    made = _left_open(store, Delta("text", "whole "), Delta("text", "torn"))
    journal = file.parent / "journal" / "broken"
    journal.write_bytes(journal.read_bytes()[:-n_lost])
    with SqliteStore(file) as again:
        assert again.turns(made.id)[0].reply.text == "whole "


def test_a_damaged_piece_ends_the_reply(store: SqliteStore, file: Path) -> None:
    """A power cut can leave zeros: the checksum tells."""
    made = _left_open(store, Delta("text", "whole "), Delta("text", "zeros"))
    journal = file.parent / "journal" / "broken"
    journal.write_bytes(journal.read_bytes()[:-3] + b"\0\0\0")
    with SqliteStore(file) as again:
        assert again.turns(made.id)[0].reply.text == "whole "


def test_a_stale_journal_is_swept(store: SqliteStore, file: Path) -> None:
    """Killed between the database and the journal: nothing of it stays."""
    made = session()
    store.create(made)
    store.begin(made.id, opened(whole := turn())).finish(whole)
    (file.parent / "journal" / whole.id).write_bytes(b"left over")
    with SqliteStore(file) as again:
        assert again.turns(made.id) == [whole]
    assert not list((file.parent / "journal").iterdir())


def test_a_living_writer_is_left_alone(store: SqliteStore, file: Path) -> None:
    """Opening the store elsewhere recovers nothing that is still being written."""
    made = session()
    store.create(made)
    draft = store.begin(made.id, opened(whole := turn()))
    draft.append(Delta("text", "so far"))
    with SqliteStore(file) as other:
        assert other.turns(made.id) == []
        with pytest.raises(SessionBusy):
            other.begin(made.id, opened(turn()))
    draft.finish(whole)
    assert store.turns(made.id) == [whole]


def test_taking_up_a_session_recovers_what_its_owner_left(file: Path) -> None:
    """Even if the store was opened before the other process died."""
    with SqliteStore(file) as mine:
        made = _left_open(SqliteStore(file), Delta("text", "shown"))
        with mine.hold(made.id):
            assert mine.turns(made.id)[0].reply.text == "shown"


def test_a_draft_that_was_given_up_is_recovered_by_the_next_turn(store: SqliteStore) -> None:
    """Nothing that was shown is lost, and the head is on the new turn."""
    made = session()
    store.create(made)
    store.begin(made.id, opened(turn("first"))).append(Delta("text", "shown"))
    second = turn("second")
    store.begin(made.id, opened(second)).finish(second)
    assert [t.reply.text for t in store.turns(made.id)] == ["shown", second.reply.text]
    assert store.get(made.id).head == second.id


def test_recovery_does_not_move_the_head_back(store: SqliteStore, file: Path) -> None:
    """A turn that was finished later stays the current one."""
    made = session()
    store.create(made)
    store.begin(made.id, opened(turn("broken"))).append(Delta("text", "shown"))
    later = turn("later")
    store.extend(replace(made, head=later.id), [later])
    store.close()
    with SqliteStore(file) as again:
        assert len(again.turns(made.id)) == 2
        assert again.get(made.id).head == later.id


def test_a_draft_is_finished_once(store: SqliteStore) -> None:
    """A second time is an error, not a second turn."""
    made = session()
    store.create(made)
    draft = store.begin(made.id, opened(whole := turn()))
    draft.finish(whole)
    with pytest.raises(StoreError):
        draft.finish(whole)
    assert store.turns(made.id) == [whole]


_WRITER = """
import itertools
for n in itertools.count():
    head = store.get(SessionId("s")).head
    whole = turn("q", "".join(f"[{i}]" for i in range(7)), parent=head)
    whole = __import__("dataclasses").replace(whole, id=TurnId(f"{os.getpid()}.{n}"))
    draft = store.begin(SessionId("s"), opened(whole))
    say(f"begun {whole.id}")
    for i in range(7):
        draft.append(Delta("text", f"[{i}]"))
        say(f"shown {whole.id} {i}")
    draft.finish(whole)
    say(f"finished {whole.id}")
"""


def test_kill_9_at_any_moment_loses_nothing_that_was_shown(file: Path) -> None:
    """Children are killed again and again while they write; all they showed is there."""
    with SqliteStore(file) as store:
        store.create(session("s"))
    chance = random.Random(9)
    begun: list[str] = []
    shown: dict[str, int] = {}
    finished: set[str] = set()
    for _ in range(8):
        child = start(_WRITER, file)
        assert child.stdout is not None
        lines = [child.stdout.readline()]
        time.sleep(chance.uniform(0.0, 0.06))
        child.kill()
        lines += child.stdout.read().splitlines()
        child.communicate()
        for what, name, *n in (line.split() for line in lines):
            if what == "begun":
                begun.append(name)
            elif what == "shown":
                shown[name] = int(n[0]) + 1
            else:
                finished.add(name)
    with SqliteStore(file) as store:
        turns = {t.id: t for t in store.turns(SessionId("s"))}
        assert set(begun) <= set(turns)
        for name, kept in turns.items():
            n_kept = kept.reply.text.count("[")
            assert shown.get(name, 0) <= n_kept <= shown.get(name, 0) + 1
            assert kept.finish == "stop" or name not in finished
            assert n_kept == 7 or kept.finish == "interrupted"
        assert len(store.path(SessionId("s"), store.get(SessionId("s")).head)) == len(turns)
        assert not list((file.parent / "journal").iterdir())
        assert not list((file.parent / "locks").iterdir())
    assert len(finished) > 5


# -- several processes -------------------------------------------------------------------

_BUSY_WRITER = """
import time
made = session(sys.argv[2])
store.create(made)
until, n, head = time.monotonic() + 1.5, 0, None
while time.monotonic() < until:
    whole = turn("apple", "pear", name=f"{made.id}.{n}", parent=head)
    draft = store.begin(made.id, opened(whole))
    draft.append(Delta("text", "pear"))
    draft.finish(whole)
    head, n = whole.id, n + 1
say(str(n))
"""


def test_processes_that_write_at_once_lose_nothing(file: Path) -> None:
    """Four children make the database together and write a session each."""
    names = ["aaaa", "bbbb", "cccc", "dddd"]
    children = [start(_BUSY_WRITER, file, name) for name in names]
    written = {
        name: int(child.communicate(timeout=60)[0])
        for name, child in zip(names, children, strict=True)
    }
    with SqliteStore(file) as store:
        for name, n in written.items():
            assert n > 0
            path = store.path(SessionId(name), store.get(SessionId(name)).head)
            assert [t.id for t in path] == [f"{name}.{i}" for i in range(n)]
        assert len(store.search("apple", limit=0)) == sum(written.values())


def test_a_second_process_is_told_who_has_the_session(store: SqliteStore, file: Path) -> None:
    """The message names the process, the hint says what to do; a death lets go."""
    made = session("s")
    store.create(made)
    child = start('with store.hold(SessionId("s")):\n    say("held")\n    sys.stdin.read()', file)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(SessionBusy) as caught, store.hold(made.id):
        pass
    assert f"process {child.pid}" in caught.value.message
    assert "--fork" in caught.value.hint
    with pytest.raises(SessionBusy):
        store.remove(made.id)
    child.kill()
    child.communicate()
    with store.hold(made.id):
        assert list((file.parent / "locks").iterdir())
    assert not list((file.parent / "locks").iterdir())


# -- deleting ----------------------------------------------------------------------------


def _all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("index", [True, False])
def test_what_was_removed_is_in_no_file(file: Path, index: bool) -> None:
    """Neither the text, the title, nor a word of it in the search index; the rest stays."""
    with SqliteStore(file, index=index) as store:
        kept = session("kept", title="kept")
        store.create(kept)
        for n in range(30):
            store.begin(kept.id, opened(whole := turn(f"plain words {n}"))).finish(whole)
        secret = session("gone", title="hushhush title")
        store.create(secret)
        for n in range(30):
            whole = turn(f"hushhush {'long ' * 300}{n}", "zugzwang", name=f"hush{n}")
            store.begin(secret.id, opened(whole)).finish(whole)
        draft = store.begin(secret.id, opened(turn("hushhush", name="hushopen")))
        draft.append(Delta("text", "zugzwang"))
        assert b"zugzwang" in _all_bytes(file.parent)
        store.remove(secret.id)
        left = _all_bytes(file.parent)
        assert b"hush" not in left
        assert b"zugzwang" not in left
        assert len(store.turns(kept.id)) == 30
        assert len(store.search("plain", limit=0)) == 30


def test_remove_all_is_all_or_nothing(store: SqliteStore) -> None:
    """One unknown session, and none is removed."""
    made = session()
    store.create(made)
    with pytest.raises(SessionNotFound):
        store.remove_all([made.id, SessionId("nobody")])
    assert store.get(made.id) == made


# -- finding -----------------------------------------------------------------------------


def test_candidates_are_named_up_to_five(store: SqliteStore) -> None:
    """And one is told that there are more."""
    for n in range(7):
        store.create(session(f"abcd{n}", title=f"Bread {n}\x1b"))
    for reference in ("abcd", "bread"):
        with pytest.raises(SessionNotFound) as caught:
            store.resolve(reference)
        assert caught.value.hint.count("abcd") == 5
        assert caught.value.hint.endswith("...")
        assert "\x1b" not in caught.value.hint
    assert store.resolve("BREAD 3").id == "abcd3"
    assert store.resolve("read 3").id == "abcd3"


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize(
    ("words", "n_found"),
    [
        ("cafe", 1),
        ("CRÈME", 1),
        ("漢字", 1),
        ("100%", 1),
        ("%", 1),
        ("_", 0),
        ('"', 0),
        ("crème AND", 0),
        ("NEAR(", 0),
        ("\0", 0),
        ("\ud800", 0),
        ("  ", 0),
    ],
)
def test_search_takes_words_literally(file: Path, index: bool, words: str, n_found: int) -> None:
    """No syntax, no wildcards; accents do not matter where there is an index."""
    with SqliteStore(file, index=index) as store:
        made = session()
        store.create(made)
        whole = turn("Crème café: 100% of it", "これは漢字です")
        store.begin(made.id, opened(whole)).finish(whole)
        if not index and words in ("cafe", "CRÈME"):
            n_found = 0  # LIKE knows neither accents nor the case of accented letters
        assert len(store.search(words)) == n_found


def test_a_database_written_without_the_index_is_indexed_later(file: Path) -> None:
    """An SQLite without FTS5 in between: nothing fails, and nothing is missed."""
    made = session()
    for n, index in enumerate((True, False, True)):
        with SqliteStore(file, index=index) as store:
            if n == 0:
                store.create(made)
            store.begin(made.id, opened(whole := turn(f"Äpfel {n}"))).finish(whole)
            assert len(store.search("Äpfel")) == n + 1
    with SqliteStore(file) as store:
        assert len(store.search("apfel")) == 3


# -- files and failures ------------------------------------------------------------------


def test_files_are_private_whatever_the_umask(file: Path) -> None:
    """0600 for each file, also of SQLite's, and 0700 for folders."""
    import os

    old = os.umask(0)
    try:
        with SqliteStore(file) as store:
            made = session()
            store.create(made)
            store.begin(made.id, opened(turn())).append(Delta("text", "x"))
            modes = {p.name: p.stat().st_mode & 0o777 for p in file.parent.rglob("*")}
    finally:
        os.umask(old)
    assert {"sessions.db", "sessions.db-wal", "sessions.db-shm"} <= set(modes)
    folders = {"journal", "locks"}
    assert {mode for name, mode in modes.items() if name not in folders} == {0o600}
    assert {modes[name] for name in folders} == {0o700}
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_full_disk_is_named_and_loses_nothing(store: SqliteStore) -> None:
    """The turn is not finished; what was there before still is."""
    made = session()
    store.create(made)
    store.begin(made.id, opened(first := turn())).finish(first)
    pages = store._db.conn.execute("PRAGMA page_count").fetchone()[0]
    store._db.conn.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError, match="disk is full"):
        store.begin(made.id, opened(turn("x" * 100_000)))
    assert store.turns(made.id) == [first]


def test_a_read_only_database_is_named(store: SqliteStore) -> None:
    """The remedy names the setting and the flag."""
    store._db.conn.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="cannot be written") as caught:
        store.create(session())
    assert "XDG_DATA_HOME" in caught.value.hint


def test_a_damaged_page_is_named(store: SqliteStore, file: Path) -> None:
    """The hint says how to go on."""
    for _ in range(50):
        store.create(session(title="x" * 500))
    store.close()
    data = bytearray(file.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    file.write_bytes(data)
    with pytest.raises(StoreError, match="damaged") as caught, SqliteStore(file) as broken:
        broken.sessions()
    assert "mv " in caught.value.hint


def test_damaged_json_in_a_row_is_named(store: SqliteStore) -> None:
    """Never a traceback."""
    made = session()
    store.create(made)
    store.begin(made.id, opened(whole := turn())).finish(whole)
    store._db.conn.execute("UPDATE turns SET reply = '{'")
    with pytest.raises(StoreError, match="damaged"):
        store.turns(made.id)


def test_a_busy_database_is_waited_for(store: SqliteStore, file: Path) -> None:
    """Another connection's transaction delays a write, and does not fail it."""
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    import threading

    timer = threading.Timer(0.1, other.execute, ["COMMIT"])
    timer.start()
    store.create(session())
    timer.join()
    other.close()
    assert len(store.sessions()) == 1
