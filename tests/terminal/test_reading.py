"""Which words of /read are files, and where the question begins."""

from pathlib import Path

import pytest

from chatcli.core.errors import InputError
from chatcli.terminal.reading import documents, split


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
