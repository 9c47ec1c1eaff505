"""In and out of the chat: /read and /copy."""

import stat
from pathlib import Path

import pytest

from chatcli.core.message import Document
from chatcli.testing import ScriptedEngine
from tests.terminal.conftest import Make, memory_env


def test_read_gives_files_with_the_question(table: Make, tmp_path: Path) -> None:
    """Several files, a glob, a name with a space; they are sent once."""
    (tmp_path / "a.txt").write_text("alpha")
    (tmp_path / "b c.txt").write_text("beta")
    (tmp_path / "n1.md").write_text("one")
    (tmp_path / "n2.md").write_text("two")
    chat = table()
    chat('/read a.txt "b c.txt" n*.md what is this?')
    parts = chat.chat.conversation.current().asked[0].parts
    documents = [part for part in parts if isinstance(part, Document)]
    assert [(d.name, d.text) for d in documents] == [
        ("a.txt", "alpha"),
        ("b c.txt", "beta"),
        ("n1.md", "one"),
        ("n2.md", "two"),
    ]
    assert chat.chat.conversation.current().asked[0].text == "what is this?"
    assert chat.chat.documents == []


def test_read_without_a_question_waits_for_the_next(table: Make, tmp_path: Path) -> None:
    """The names are told; a failed question keeps them."""
    (tmp_path / "a.txt").write_text("alpha")
    chat = table(engine=ScriptedEngine(context=12))
    assert "With your next question: a.txt" in chat.err("/read a.txt")
    assert "error: the input takes" in chat.err("word " * 20)
    assert len(chat.chat.documents) == 1
    chat("short")
    assert chat.chat.conversation.current().asked[0].parts[0] == Document("a.txt", "alpha")
    assert chat.chat.documents == []


def test_read_says_what_is_wrong_with_a_file(table: Make, tmp_path: Path) -> None:
    """Missing, a folder, not text, no argument: nothing is attached."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"\xfe\xff\x00")
    (tmp_path / "nul").write_bytes(b"a\0b")
    chat = table()
    assert "no such file: missing.txt" in chat.err("/read missing.txt what?")
    assert "folder is a folder" in chat.err("/read folder")
    assert "not UTF-16-BE text" in chat.err("/read binary")
    assert "nul is binary" in chat.err("/read nul")
    assert "/read wants a file" in chat.err("/read")
    assert chat.chat.documents == []


def test_copy_takes_the_reply_or_its_code(table: Make, tmp_path: Path) -> None:
    """A program that is there is used and named."""
    program = tmp_path / "wl-copy"
    program.write_text(f"#!/bin/sh\ncat > {tmp_path}/clipboard\n")
    program.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "WAYLAND_DISPLAY": "wayland-0"}
    chat = table([["Look:\n```python\nprint(1)\n```\nDone"], ["none"]], env=memory_env("", environ))
    chat("code please")
    clipboard = tmp_path / "clipboard"
    assert "Copied the reply (33 characters) by wl-copy" in chat.err("/copy")
    assert clipboard.read_text() == "Look:\n```python\nprint(1)\n```\nDone"
    assert "Copied the code block" in chat.err("/copy 1 code")
    assert clipboard.read_text() == "print(1)\n"
    chat("another")
    assert "the reply has no code block" in chat.err("/copy code")
    assert "/copy wants one turn" in chat.err("/copy 1 2")


@pytest.mark.parametrize("name", ["chat.md", "chat.json", "chat.html", "My Chat.MD"])
def test_export_writes_by_the_suffix(name: str, table: Make, tmp_path: Path) -> None:
    """A private file; the form is told by its suffix."""
    chat = table([["the answer"]])
    chat("the question")
    assert f"Written: {name} (1 turn)" in chat.err(f"/export {name}")
    text = (tmp_path / name).read_text()
    assert "the question" in text
    assert "the answer" in text
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_export_names_the_file_by_the_title(table: Make, tmp_path: Path) -> None:
    """Whatever stands in the title, it is a plain name in this folder."""
    chat = table()
    chat("hello")
    chat("/save ../My: chat/1 ")
    assert "Written: my-chat-1.md" in chat.err("/export")
    assert (tmp_path / "my-chat-1.md").exists()


def test_export_says_what_is_wrong(table: Make, tmp_path: Path) -> None:
    """Nothing to write, a form that is not known, a file that exists, a folder that does not."""
    chat = table()
    assert "nothing has been said" in chat.err("/export a.md")
    chat("hello")
    assert "End it in .md, .json or .html" in chat.err("/export a.txt")
    (tmp_path / "a.md").write_text("mine")
    assert "a.md exists already" in chat.err("/export a.md")
    assert (tmp_path / "a.md").read_text() == "mine"
    assert "cannot write no/a.md: No such file" in chat.err("/export no/a.md")


def test_copy_without_any_clipboard_says_so(table: Make) -> None:
    """No program and no terminal."""
    chat = table()
    chat("hello")
    assert "there is no clipboard" in chat.err("/copy")
