import sys

import pytest

from chatcli.cli.progress import DownloadDisplay


def test_outside_a_terminal_there_is_a_line_for_each_tenth(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Plain lines on stderr, each tenth once, however many steps there are."""
    with DownloadDisplay(bar=False) as show:
        for done in range(0, 100_000_001, 500_000):
            show(done, 100_000_000, "download")
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert len(lines) == 10
    assert lines[0] == "downloading: 10 MB of 100 MB (10 %)"
    assert lines[-1] == "downloading: 100 MB of 100 MB (100 %)"
    assert captured.out == ""


def test_an_unknown_size_is_counted_in_100_megabytes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a total there is no percentage."""
    with DownloadDisplay(bar=False) as show:
        for done in range(0, 350_000_000, 50_000_000):
            show(done, 0, "check")
    assert capsys.readouterr().err.splitlines() == [
        "checking: 100 MB",
        "checking: 200 MB",
        "checking: 300 MB",
    ]


def test_in_a_terminal_there_is_a_bar_with_rate_and_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Size, rate and time left stand beside the bar, on stderr."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with DownloadDisplay(bar=True) as show:
        show(10_000_000, 98_000_000, "check")
        show(20_000_000, 98_000_000, "download")
        show.say("a line\x1b[2J between")
        show(49_000_000, 98_000_000, "download")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "49.0/98.0 MB" in captured.err
    assert "/100 bytes" not in captured.err
    assert "downloading" in captured.err
    assert "a line\u241b[2J between" in captured.err


def test_nothing_is_drawn_and_rich_not_loaded_before_the_first_step() -> None:
    """A model that is here costs no display."""
    before = "rich.progress" in sys.modules
    with DownloadDisplay(bar=True):
        pass
    assert ("rich.progress" in sys.modules) == before
