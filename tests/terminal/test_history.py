"""The history file: private, capped, shared, and never a reason to fail."""

import stat
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatcli.terminal.history import LineHistory

_LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1)


def lines(history: LineHistory) -> list[str]:
    """Return what a new prompt would offer, newest first."""
    return list(history.load_history_strings())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(typed=st.lists(_LINE, max_size=8))
def test_what_is_typed_comes_back(typed: list[str], tmp_path: Path) -> None:
    """Newest first, line feeds and all; without repeats and lines that begin with a space."""
    file = tmp_path / "history"
    file.unlink(missing_ok=True)
    history = LineHistory(file)
    kept: list[str] = []
    for line in typed:
        history.append_string(line)
        if not line.startswith(" ") and kept[-1:] != [line]:
            kept.append(line)
    assert lines(LineHistory(file)) == kept[::-1]


def test_the_file_is_private_even_if_it_was_not(tmp_path: Path) -> None:
    """0600 in a folder 0700."""
    file = tmp_path / "state" / "history"
    LineHistory(file).append_string("one")
    file.chmod(0o644)
    LineHistory(file).append_string("two")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert lines(LineHistory(file)) == ["two", "one"]


def test_a_large_file_loses_its_older_half(tmp_path: Path) -> None:
    """The newest lines stay, whole."""
    file = tmp_path / "history"
    history = LineHistory(file)
    for number in range(100):
        history.append_string(f"line {number}")
    found = lines(LineHistory(file, max_bytes=1_000))
    assert file.stat().st_size <= 500
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert found == [f"line {number}" for number in range(99, 99 - len(found), -1)]
    assert 5 < len(found) < 30


def test_without_a_file_nothing_is_written(tmp_path: Path) -> None:
    """Incognito: Up still works within the run."""
    history = LineHistory(None)
    history.append_string("one")
    assert history.get_strings() == ["one"]
    assert lines(history) == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    """The chat goes on without a history."""
    (tmp_path / "state").write_text("a file where the folder should be")
    history = LineHistory(tmp_path / "state" / "history")
    assert lines(history) == []
    history.append_string("one")
    history.append_string("two")
    assert history.get_strings() == ["one", "two"]


def test_damaged_bytes_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    """A line that is not UTF-8 does not hide the others."""
    file = tmp_path / "history"
    file.write_bytes(b"\n# now\n+good\n\n# now\n+b\xffd\njunk\n")
    assert lines(LineHistory(file)) == ["b\ufffdd", "good"]
