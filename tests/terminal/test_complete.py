"""What Tab offers."""

from pathlib import Path

import pytest

from chatcli.core.decision import Route
from chatcli.core.message import Message, user
from chatcli.core.session import Session, SessionId, Turn, TurnId
from chatcli.terminal.command import COMMANDS, KNOWN
from chatcli.terminal.complete import Sources, candidates


def _turn(text: str) -> Turn:
    return Turn(
        id=TurnId(text),
        parent=None,
        asked=(user(text),),
        reply=Message("assistant", ()),
        route=Route(model="m", rule="chosen"),
        finish="stop",
        started_at=0.0,
    )


def _session(name: str, title: str) -> Session:
    return Session(id=SessionId(name), kind="chat", model="m", clock=0.0, title=title)


SOURCES = Sources(
    commands=KNOWN,
    models=lambda: ["smollm2:135m", "qwen2.5-coder:0.5b"],
    sessions=lambda: [_session("k3v9", "Apples and \x1b pears"), _session("m8r2", "Monads")],
    turns=lambda: [_turn("first"), _turn("second")],
    keys=lambda: ["temperature", "top_k", "top_p"],
)


def offered(before: str) -> list[str]:
    """Return the whole lines that the candidates would make."""
    return [before[: len(before) - c.length] + c.text for c in candidates(before, SOURCES)]


@pytest.mark.parametrize(
    ("before", "lines"),
    [
        ("/mo", ["/model"]),
        ("/q", ["/quit"]),
        (".und", [".undo"]),
        ("/help und", ["/help undo"]),
        ("/model q", ["/model qwen2.5-coder:0.5b"]),
        ("/retry S", ["/retry smollm2:135m"]),
        ("/load monad", ["/load m8r2"]),
        ("/load k3", ["/load k3v9"]),
        ("/edit ", ["/edit 1", "/edit 2"]),
        ("/fork 2", ["/fork 2"]),
        ("/copy c", ["/copy code"]),
        ("/copy 1 c", ["/copy 1 code"]),
        ("/set to", ["/set top_k", "/set top_p"]),
        ("/show s", ["/show system", "/show settings"]),
        ("/undo ", []),
        ("/nothing x", []),
        ("hello /mo", []),
        ("text\n/mo", []),
        ("", []),
    ],
)
def test_what_is_offered(before: str, lines: list[str]) -> None:
    """Names by their beginning, chats also by a part of their title."""
    assert offered(before) == lines


def test_a_slash_offers_every_command_once() -> None:
    """With its help beside it."""
    found = list(candidates("/", SOURCES))
    assert [c.text for c in found] == [command.name for command in COMMANDS]
    assert all(c.meta for c in found)


def test_titles_are_made_safe() -> None:
    """A control character in a title is shown, not obeyed."""
    assert all("\x1b" not in c.meta for c in candidates("/load ", SOURCES))


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders end with a slash, spaces and quotes are escaped, hidden files wait for a dot."""
    for name in ("notes.txt", "my file.txt", "it's.txt", ".hidden", "bad\x1bname"):
        (tmp_path / name).write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "in side").write_text("x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert offered("/read ") == [
        "/read folder/",
        r"/read it\'s.txt",
        r"/read my\ file.txt",
        "/read notes.txt",
    ]
    assert offered(r"/read my\ f") == [r"/read my\ file.txt"]
    assert offered("/read notes.txt fol") == ["/read notes.txt folder/"]
    assert offered("/read folder/i") == [r"/read folder/in\ side"]
    assert offered("/read ~/no") == ["/read ~/notes.txt"]
    assert offered("/read .h") == ["/read .hidden"]
    assert offered(f"/read {tmp_path}/no") == [f"/read {tmp_path}/notes.txt"]
    assert offered("/read missing/x") == []
