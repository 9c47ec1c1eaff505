"""What is piped in or attached is read as text, or refused with a reason."""

import io
from pathlib import Path

import pytest

from chatcli.cli.inputs import question, read_file, read_stdin
from chatcli.core.errors import InputError, UsageError
from tests.cli.given import pipe_in


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """Missing, a folder, no right to read it, a name that no file can have."""
    with pytest.raises(InputError, match=r"cannot read .*gone: No such file"):
        read_file(str(tmp_path / "gone"))
    with pytest.raises(InputError, match="is a folder"):
        read_file(str(tmp_path))
    with pytest.raises(InputError, match="cannot read"):
        read_file("a\0b")
    with pytest.raises(InputError, match="File name too long"):
        read_file("x" * 5000)


def test_an_unreadable_file_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's own words are passed on. /proc/self/mem exists and cannot be read so."""
    with pytest.raises(InputError, match="cannot read /proc/self/mem: Input/output error"):
        read_file("/proc/self/mem")


def test_stdin_counts_only_where_it_says_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed, empty and blank are nothing."""
    assert read_stdin(io.BytesIO(b"x\n")) == "x\n"
    assert read_stdin(io.BytesIO(b"")) is None
    assert read_stdin(io.BytesIO(b" \n\n")) is None
    monkeypatch.setattr("sys.stdin", None)
    assert read_stdin() is None


def test_documents_come_before_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """stdin first, or where `-` puts it; a file named twice is given once."""
    file = tmp_path / "f.txt"
    file.write_text("text", encoding="utf-8")
    pipe_in(monkeypatch, b"piped")
    name = str(file)
    assert question(["do", "it"], [name, name]).content == (
        "[stdin]\npiped\n\n[f.txt]\ntext\n\ndo it"
    )
    pipe_in(monkeypatch, b"piped")
    assert question(["do"], [name, "-"]).content == "[f.txt]\ntext\n\n[stdin]\npiped\n\ndo"


def test_a_lone_dash_is_stdin_as_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """`cmd | chatcli -` asks what the pipe says."""
    pipe_in(monkeypatch, b"what is it?")
    assert question(["-"], []).content == "what is it?"


def test_nothing_to_ask_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """No words and an empty pipe; a dash among the attachments needs a pipe."""
    pipe_in(monkeypatch, b"")
    with pytest.raises(UsageError, match="nothing to ask"):
        question([], [])
    pipe_in(monkeypatch, b"")
    with pytest.raises(UsageError, match="nothing to ask"):
        question(["  "], [])
    pipe_in(monkeypatch, b"")
    with pytest.raises(InputError, match="-a - means stdin"):
        question(["hi"], ["-"])


def test_what_has_no_end_is_refused_before_it_fills_the_memory() -> None:
    """`yes | chatcli` and `-a /dev/zero` end in an error."""
    with (
        Path("/dev/zero").open("rb") as endless,
        pytest.raises(InputError, match=r"stdin is larger than 64,000,000 bytes"),
    ):
        read_stdin(endless)
    with pytest.raises(InputError, match=r"/dev/zero is larger than 64,000,000 bytes"):
        read_file("/dev/zero")
