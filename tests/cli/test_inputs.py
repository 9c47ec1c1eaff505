"""What is piped in or attached is read as text, or refused with a reason."""

import codecs
import io
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.cli.inputs import decode, question, read_file, read_stdin
from chatcli.core.errors import InputError, UsageError
from tests.cli.given import pipe_in

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(TEXT)
def test_utf8_and_marked_utf16_come_back_as_they_were(text: str) -> None:
    """With and without a byte order mark, which is no part of the text."""
    text = text.removeprefix("\ufeff")
    assert decode(codecs.BOM_UTF8 + text.encode(), "f") == text
    assert decode(codecs.BOM_UTF16_LE + text.encode("utf-16-le"), "f") == text
    assert decode(codecs.BOM_UTF16_BE + text.encode("utf-16-be"), "f") == text


@given(st.binary())
def test_any_bytes_are_text_or_a_clear_error(data: bytes) -> None:
    """Nothing else can come out, and text never holds a NUL."""
    with suppress(InputError):
        assert "\0" not in decode(data, "f")


def test_a_wrong_byte_is_named_with_its_offset() -> None:
    """The offset counts from the start of the file, the byte order mark included."""
    with pytest.raises(InputError, match=r"f is not UTF-8 text: byte 0xe9 at offset 3\. .*iconv"):
        decode(b"caf\xe9 creme", "f")
    with pytest.raises(InputError, match="byte 0xff at offset 4"):
        decode(codecs.BOM_UTF8 + b"a\xff", "f")
    with pytest.raises(InputError, match="UTF-16-LE text: byte 0x61 at offset 2"):
        decode(codecs.BOM_UTF16_LE + b"a", "f")


@pytest.mark.parametrize("data", [b"\x7fELF\0\0", b"a\0b", "hi".encode("utf-32")])
def test_binary_is_called_binary(data: bytes) -> None:
    """A NUL byte anywhere, also far behind the start."""
    for found in (data, b"text " * 50_000 + data if data != "hi".encode("utf-32") else data):
        with pytest.raises(InputError, match="f is binary, not text"):
            decode(found, "f")


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
