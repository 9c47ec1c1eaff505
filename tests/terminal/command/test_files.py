"""In and out of the chat: /read and /copy."""

from pathlib import Path

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
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "nul").write_bytes(b"a\0b")
    chat = table()
    assert "no such file: missing.txt" in chat.err("/read missing.txt what?")
    assert "folder is a folder" in chat.err("/read folder")
    assert "not UTF-8 text" in chat.err("/read binary")
    assert "not a text file" in chat.err("/read nul")
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


def test_copy_without_any_clipboard_says_so(table: Make) -> None:
    """No program and no terminal."""
    chat = table()
    chat("hello")
    assert "there is no clipboard" in chat.err("/copy")
