"""A chat that talks to a scripted engine and writes into memory."""

import io
import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from chatcli.core.errors import LoadError, SessionBusy
from chatcli.core.ports import EngineSource, SessionStore
from chatcli.core.session import SessionId
from chatcli.orchestrator.conversation import Conversation, Style
from chatcli.orchestrator.turn import Ports
from chatcli.settings import Settings
from chatcli.terminal.chat import Chat
from chatcli.terminal.env import Env
from chatcli.terminal.loading import Loading
from chatcli.terminal.repl import feed
from chatcli.testing import MemoryStore, ScriptedEngine


class OneBroken(ScriptedEngine):
    """Cannot load the model called broken."""

    def engine(self, model: str) -> ScriptedEngine:
        """Serve any other name."""
        if model == "broken":
            raise LoadError("broken cannot be loaded", "Choose another")
        return super().engine(model)


class Busy(MemoryStore):
    """One session is held by another process."""

    busy = SessionId("")

    def hold(self, session_id: SessionId) -> AbstractContextManager[None]:
        """Hold any other session."""
        if session_id == self.busy:
            raise SessionBusy("this chat is open in another process", "Close it there")
        return super().hold(session_id)


def memory_env(stdin: str = "", environ: dict[str, str] | None = None) -> Env:
    """Streams in memory; none of them is a terminal."""
    return Env(
        stdin=io.StringIO(stdin),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
        stdin_tty=False,
        stdout_tty=False,
        stderr_tty=False,
        color=False,
        color_err=False,
        dark=True,
        environ=environ or {},
    )


@dataclass
class Table:
    """A chat and what it wrote since the last look."""

    chat: Chat
    store: MemoryStore

    def __call__(self, line: str) -> str:
        """Feed one line; return what came on stdout."""
        return self.both(line)[0]

    def both(self, line: str) -> tuple[str, str]:
        """Feed one line; return stdout and stderr."""
        feed(self.chat, line)
        return _taken(self.chat.env.stdout), _taken(self.chat.env.stderr)

    def err(self, line: str) -> str:
        """Feed one line; return what came on stderr."""
        return self.both(line)[1]


def _taken(stream: object) -> str:
    assert isinstance(stream, io.StringIO)
    text = stream.getvalue()
    stream.seek(0)
    stream.truncate()
    return text


Make = Callable[..., Table]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that makes a chat; XDG folders are under tmp_path."""
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)

    def make(
        replies: Sequence[Sequence[str]] = (),
        *,
        engine: EngineSource | None = None,
        store: SessionStore | None = None,
        env: Env | None = None,
        style: Style | None = None,
        interactive: bool = True,
    ) -> Table:
        engine = engine or ScriptedEngine(replies)
        memory = MemoryStore()
        ids, clock = itertools.count(1000), itertools.count(1)
        ports = Ports(
            engines=engine,
            store=store or memory,
            now=lambda: float(next(clock)),
            new_id=lambda: f"id{next(ids)}",
        )
        conversation = Conversation(ports, style or Style(), lambda text: text[:20])
        conversation.start(model="scripted")
        chat = Chat(
            conversation=conversation,
            store=store or memory,
            loading=Loading(engine),
            settings=Settings(),
            env=env or memory_env(),
            models=lambda: ["scripted", "other"],
            interactive=interactive,
        )
        return Table(chat, memory)

    return make
