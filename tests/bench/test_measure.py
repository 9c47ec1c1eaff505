"""Pairs in turn, and child processes that are watched."""

import os
import sys

import pytest

from chatcli.bench.measure import BenchError, in_turn, program, repeated, resident, watch


def test_pairs_run_in_turn_and_the_first_is_thrown_away() -> None:
    """A B A B ..., one pair more than asked."""
    order: list[str] = []

    def side(name: str) -> float:
        order.append(name)
        return float(len(order))

    ours, other = in_turn(2, lambda: side("a"), lambda: side("b"))
    assert order == ["a", "b"] * 3
    assert (ours, other) == ((3.0, 5.0), (4.0, 6.0))


def test_a_single_side_is_repeated_after_a_run_thrown_away() -> None:
    """The tick says which run begins."""
    ticks: list[int] = []
    values = iter([9.0, 1.0, 2.0])
    assert repeated(2, lambda: next(values), tick=ticks.append) == (1.0, 2.0)
    assert ticks == [0, 1, 2]


def child(code: str) -> list[str]:
    """A Python that runs `code`."""
    return [sys.executable, "-c", code]


def test_the_first_byte_comes_before_the_end() -> None:
    """A child that says something and then sleeps."""
    seen = watch(child("import time; print('x', flush=True); time.sleep(0.3)"), os.environ)
    assert 0 < seen.first_byte_s < seen.total_s
    assert seen.total_s - seen.first_byte_s >= 0.2


def test_a_held_child_is_looked_at_before_it_ends() -> None:
    """Its memory is read while it waits for its stdin to end."""
    code = "x = b'1' * 60_000_000; print('.', flush=True); import sys; sys.stdin.read()"
    seen = watch(child(code), os.environ, hold=True)
    assert seen.peak_bytes > 60_000_000
    assert 0 < seen.end_bytes <= seen.peak_bytes


def test_a_child_that_fails_is_told_with_its_last_line() -> None:
    """The code and what it said on stderr."""
    with pytest.raises(BenchError, match="ended with 3: it went wrong"):
        watch(child("import sys; print('it went wrong', file=sys.stderr); sys.exit(3)"), os.environ)


def test_a_child_that_says_nothing_is_an_error() -> None:
    """There was no first byte to time."""
    with pytest.raises(BenchError, match="nothing was said"):
        watch(child("pass"), os.environ)


def test_a_reply_that_was_cut_is_what_a_measurement_wants() -> None:
    """Exit code 4 is no failure here."""
    assert watch(child("print('x'); raise SystemExit(4)"), os.environ).first_byte_s > 0


def test_our_own_memory_is_known() -> None:
    """Now and at the peak."""
    now, peak = resident(os.getpid())
    assert 0 < now <= peak


def test_a_process_that_is_gone_has_no_memory() -> None:
    """Zero stands for unknown."""
    assert resident(2**22 + 1) == (0, 0)


def test_a_measured_program_leaves_the_user_s_files_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folders are its own and vanish; settings of the environment do not reach it."""
    monkeypatch.setenv("CHATCLI_MODEL", "other")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    with program({"CHATCLI_ENGINE_BATCH": "64"}) as chatcli:
        data = chatcli.environ["XDG_DATA_HOME"]
        assert data != os.environ["XDG_DATA_HOME"]
        assert os.path.isdir(os.path.dirname(data))  # noqa: PTH112, PTH120  # as the child sees it
        assert "CHATCLI_MODEL" not in chatcli.environ
        assert "PYTHONDONTWRITEBYTECODE" not in chatcli.environ
        assert chatcli.environ["CHATCLI_ENGINE_BATCH"] == "64"
        assert chatcli.command("--help")[1:] == ["-m", "chatcli", "--help"]
    assert not os.path.exists(os.path.dirname(data))  # noqa: PTH110, PTH120
