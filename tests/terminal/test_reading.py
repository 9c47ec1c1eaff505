"""Which words of /read are files, and where the question begins."""

import codecs
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.core.errors import InputError
from chatcli.terminal.reading import decode, documents, split

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.txt", "b.txt", "c d.txt", "it's.txt", "x[1].txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "e.md").write_text("e")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("argument", "files", "question"),
    [
        ("a.txt", ["a.txt"], ""),
        ("a.txt what's in it?", ["a.txt"], "what's in it?"),
        ("a.txt b.txt compare them", ["a.txt", "b.txt"], "compare them"),
        ("a.txt a.txt", ["a.txt"], ""),
        ('"c d.txt" why?', ["c d.txt"], "why?"),
        (r"c\ d.txt why?", ["c d.txt"], "why?"),
        (r"it\'s.txt it's what?", ["it's.txt"], "it's what?"),
        ('"it\'s.txt"', ["it's.txt"], ""),
        ("it's.txt", ["it's.txt"], ""),
        ("x[1].txt", ["x[1].txt"], ""),
        ("?.txt sum up", ["a.txt", "b.txt"], "sum up"),
        ("**/*.md", ["sub/e.md"], ""),
        ("sub/* b.txt", ["sub/e.md", "b.txt"], ""),
        ("a.txt what is b.txt?", ["a.txt"], "what is b.txt?"),
        ('a.txt "quoted" words', ["a.txt"], '"quoted" words'),
    ],
)
def test_files_come_first(argument: str, files: list[str], question: str) -> None:
    """The question begins with the first word that names no file, and is left as it is."""
    found, rest = split(argument)
    assert [str(path) for path in found] == files
    assert rest == question


def test_home_is_known(tmp_path: Path) -> None:
    """`~` works as in a shell, globs included."""
    assert split("~/a.txt ~/sub/*.md")[0] == [tmp_path / "a.txt", tmp_path / "sub" / "e.md"]


def test_a_byte_order_mark_is_not_text(tmp_path: Path) -> None:
    """Line ends stay as they are."""
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert documents([Path("bom")])[0].text == "a\r\nb"


def test_an_unreadable_file_says_why(tmp_path: Path) -> None:
    """A link that leads nowhere exists, and cannot be read."""
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(InputError, match="cannot read dangling: No such file"):
        documents(split("dangling")[0])


def test_what_has_no_end_is_refused(tmp_path: Path) -> None:
    """A device has a size of 0 and goes on for ever."""
    (tmp_path / "endless").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="larger than"):
        documents(split("endless")[0])


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
