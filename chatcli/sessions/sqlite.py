"""The session store in an SQLite file. Start reading here; SQL stands in `rows` and `find`.

What a turn goes through, and what a `kill -9` leaves at each point::

    begin    question -> database (on disk)             an interrupted turn without a reply
    append   piece    -> journal (survives the process) an interrupted turn with what was shown
    finish   turn, head, search index -> database       the whole turn
             journal deleted                            (a stale journal, swept at the next opening)

An open turn whose session nobody holds belongs to a process that died: whoever opens the
store or takes up the session makes an interrupted turn of it. Not more than one turn of a
session is written at a time.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Self

from chatcli.core.errors import SessionBusy, SessionNotFound, StoreError
from chatcli.core.event import Delta
from chatcli.core.message import Message, Part, Reasoning, Text
from chatcli.core.ports import Hit
from chatcli.core.session import Kind, Session, SessionId, Turn, TurnId
from chatcli.sessions import find, rows
from chatcli.sessions.database import Database
from chatcli.sessions.journal import Journal, JournalFile
from chatcli.sessions.locks import Locks


class SqliteDraft:
    """A turn being written: its session is held until it is finished or discarded."""

    def __init__(self, store: "SqliteStore", turn: TurnId, file: JournalFile) -> None:
        self._store = store
        self._turn = turn
        self._file = file
        self.held = ExitStack()

    def append(self, delta: Delta) -> None:
        """Keep a piece of the reply; it survives a kill of this process."""
        self._file.append(delta)

    def finish(self, turn: Turn) -> None:
        """Make the whole turn durable and move the session's head to it.

        Raises:
            StoreError: it was finished or discarded before.
        """
        self._store.complete(turn)
        self.let_go(remove=True)

    def discard(self) -> None:
        """Drop the turn: it said nothing."""
        self._store.drop(self._turn)
        self.let_go(remove=True)

    def let_go(self, *, remove: bool) -> None:
        """Close the journal, let go of the session; the turn's row is not touched."""
        self._store.drafts.pop(self._turn, None)
        self._file.close(remove=remove)
        self.held.close()


class SqliteStore:
    """`core.ports.SessionStore` in an SQLite file, its journal and locks beside it.

    Several processes may use one file; several threads may use one store. `index` False
    does without the search index, as on an SQLite without FTS5.

    Raises:
        StoreError: the file is from a newer version, damaged, not ours, or read-only.
    """

    def __init__(self, path: Path, *, index: bool = True) -> None:
        self.file = path
        self.drafts: dict[TurnId, SqliteDraft] = {}
        self._journal = Journal(path.parent / "journal")
        self._locks = Locks(path.parent / "locks")
        self._turns = threading.RLock()  # taken before the database's own lock
        self._db = Database(path, index=index)
        self._recover_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all files. A turn that is still open is recovered at the next opening."""
        for draft in list(self.drafts.values()):
            draft.let_go(remove=False)
        self._db.close()

    # -- sessions --------------------------------------------------------------------

    def create(self, session: Session) -> None:
        """Add a new, empty session."""
        self.add(session, ())

    def add(self, session: Session, turns: Sequence[Turn]) -> None:
        """Add a session with its finished turns, parents first, in one step.

        Raises:
            StoreError: a session or a turn with this id is there already.
        """
        self.add_all([(session, turns)])

    def add_all(self, chats: Iterable[tuple[Session, Sequence[Turn]]]) -> None:
        """Add sessions with their finished turns, all or none."""
        with self._db.writing() as conn:
            for session, turns in chats:
                rows.insert_session(conn, session)
                for turn in turns:
                    rows.insert_turn(conn, session.id, turn)

    def extend(self, session: Session, turns: Sequence[Turn]) -> None:
        """Add finished turns to a known session, and save the session, in one step."""
        with self._db.writing() as conn:
            for turn in turns:
                rows.insert_turn(conn, session.id, turn)
            if not rows.update_session(conn, session):
                raise _unknown(session.id)

    def save(self, session: Session) -> None:
        """Update a known session."""
        with self._db.writing() as conn:
            if not rows.update_session(conn, session):
                raise _unknown(session.id)

    def get(self, session_id: SessionId) -> Session:
        """Return one session."""
        with self._db.reading() as conn:
            session = find.by_id(conn, session_id)
        if session is None:
            raise _unknown(session_id)
        return session

    def resolve(self, reference: str) -> Session:
        """Find a session by id, unique id prefix of >= 4 characters, title or part of one."""
        with self._db.reading() as conn:
            return find.resolve(conn, reference)

    def latest(self) -> Session | None:
        """Return the session of any kind that was used last."""
        return next(iter(self.sessions(limit=1)), None)

    def sessions(self, *, kinds: Sequence[Kind] = ("chat", "ask"), limit: int = 0) -> list[Session]:
        """Return sessions, last used first; `limit` 0 means all."""
        with self._db.reading() as conn:
            return find.listed(conn, kinds, limit)

    def search(self, words: str, *, limit: int = 20) -> list[Hit]:
        """Search the texts of all turns, best match first."""
        with self._db.reading() as conn:
            return find.search(conn, words, limit, indexed=self._db.indexed)

    # -- turns -----------------------------------------------------------------------

    def turns(self, session_id: SessionId) -> list[Turn]:
        """Return the whole tree, parents before children, oldest first."""
        self.get(session_id)
        with self._db.reading() as conn:
            return rows.tree(conn, session_id)

    def path(self, session_id: SessionId, head: TurnId | None) -> list[Turn]:
        """Return the turns from the root to `head`.

        Raises:
            SessionNotFound: `head` is no finished turn of this session.
        """
        if head is None:
            return []
        with self._db.reading() as conn:
            path = rows.up_from(conn, session_id, head)
        if not path:
            raise SessionNotFound(f"session {session_id} has no turn {head}")
        return path

    def begin(self, session_id: SessionId, turn: Turn) -> SqliteDraft:
        """Keep the question at once, and return a draft for the reply.

        Raises:
            SessionNotFound: there is no such session.
            SessionBusy: another process holds it.
        """
        with self._turns, ExitStack() as held:
            self.get(session_id)
            held.enter_context(self.hold(session_id))
            # A draft of ours that was neither finished nor discarded: its turn was broken off.
            self._recover(session_id)
            with self._db.writing() as conn:
                rows.insert_open(conn, session_id, turn)
            draft = SqliteDraft(self, turn.id, self._journal.create(turn.id))
            draft.held = held.pop_all()
            self.drafts[turn.id] = draft
        return draft

    def complete(self, turn: Turn) -> None:
        """Finish an open turn: its rows, the head and the search index, in one step."""
        with self._db.writing() as conn:
            session_id = rows.finish_turn(conn, turn)
            if session_id is None:
                raise StoreError(f"turn {turn.id} is not being written", "It was finished before")
            rows.move_head(conn, session_id, turn)

    def drop(self, turn: TurnId) -> None:
        """Delete an open turn."""
        with self._db.writing() as conn:
            rows.delete_open(conn, turn)

    # -- deleting --------------------------------------------------------------------

    def remove(self, session_id: SessionId) -> None:
        """Delete a session for good; afterwards no file of the store holds its text.

        Raises:
            SessionBusy: another process holds it.
        """
        self.remove_all([session_id])

    def remove_all(
        self, session_ids: Sequence[SessionId], *, spare_busy: bool = False
    ) -> list[SessionId]:
        """Delete sessions for good, all or none; return those deleted.

        `spare_busy`: those that another process holds are left out, and no error.
        """
        with self._db.writing() as conn:
            turns = rows.open_ids(conn)
            # Held one by one: thousands of lock files would be more than a process may open.
            # Whoever takes up one of them before the end must wait for this transaction.
            gone = [name for name in session_ids if self._delete(conn, name, spare_busy)]
            self._db.forget(conn)
        for _, turn in (pair for pair in turns if pair[0] in set(gone)):
            if (draft := self.drafts.get(turn)) is not None:
                draft.let_go(remove=True)
            self._journal.remove(turn)
        self._db.empty_wal()
        return gone

    def _delete(self, conn: Connection, session_id: SessionId, spare_busy: bool) -> bool:
        try:
            with self._locks.hold(session_id, patience_s=0.0 if spare_busy else 0.2):
                if not rows.delete_session(conn, session_id):
                    raise _unknown(session_id)
        except SessionBusy:
            if not spare_busy:
                raise
            return False
        return True

    # -- holding and recovering --------------------------------------------------------

    @contextmanager
    def hold(self, session_id: SessionId) -> Iterator[None]:
        """Hold a session against other processes; what one that died left is recovered.

        Raises:
            SessionBusy: another process holds it.
        """
        with self._locks.hold(session_id) as first:
            if first:
                self._recover(session_id)
            yield

    def _recover_all(self) -> None:
        """Complete the turns of processes that died; sweep the files that they left."""
        files = self._journal.names()
        with self._db.reading() as conn:
            found = rows.open_ids(conn)
        self._journal.sweep(files, {turn for _, turn in found})
        for session_id in {session_id for session_id, _ in found}:
            try:
                with self._locks.hold(session_id, patience_s=0.0):
                    self._recover(session_id)
            except SessionBusy:
                continue  # it is being written
        self._locks.sweep()

    def _recover(self, session_id: SessionId) -> None:
        """Make interrupted turns of the open turns of a session that we hold."""
        with self._db.reading() as conn:
            found = rows.open_turns(conn, session_id)
        for turn in found:
            parts = _joined(self._journal.read(turn.id))
            whole = replace(turn, reply=Message("assistant", parts), finish="interrupted")
            with self._db.writing() as conn:
                if rows.finish_turn(conn, whole) and rows.is_last(conn, session_id, turn.id):
                    rows.move_head(conn, session_id, whole)
            if (draft := self.drafts.get(turn.id)) is not None:
                draft.let_go(remove=True)
            self._journal.remove(turn.id)


def _joined(pieces: Sequence[Delta]) -> tuple[Part, ...]:
    """Return the pieces as parts, neighbours of one kind joined."""
    parts: list[Part] = []
    run: list[str] = []
    for i, piece in enumerate(pieces):
        run.append(piece.text)
        if i + 1 == len(pieces) or pieces[i + 1].kind != piece.kind:
            text = "".join(run)
            parts.append(Text(text) if piece.kind == "text" else Reasoning(text))
            run = []
    return tuple(parts)


def _unknown(session_id: SessionId) -> SessionNotFound:
    return SessionNotFound(f"no session {session_id}", "See them with: chatcli sessions list")
