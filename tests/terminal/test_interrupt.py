"""Signals set the flag, and nothing else."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from chatcli.core.cancel import Cancel
from chatcli.terminal.interrupt import cancel_on_interrupt, stop_on_signals


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = [signal.getsignal(number) for number in numbers]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def test_first_interrupt_only_sets_the_flag() -> None:
    """One Ctrl-C sets `cancel` and raises nothing."""
    cancel = Cancel()
    with cancel_on_interrupt(cancel) as stop:
        assert not cancel
        signal.raise_signal(signal.SIGINT)
        assert cancel
    assert stop.code == 130


def test_second_interrupt_raises() -> None:
    """The second Ctrl-C of a turn is a KeyboardInterrupt."""
    cancel = Cancel()
    with cancel_on_interrupt(cancel):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_the_old_handler_comes_back() -> None:
    """After the turn Ctrl-C does what it did before, also after an error."""
    with cancel_on_interrupt(Cancel()):
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(ValueError, match="x"), cancel_on_interrupt(Cancel()):
        raise ValueError("x")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_stop_remembers_the_signal(number: signal.Signals, code: int) -> None:
    """The exit code of the first signal is kept."""
    cancel = Cancel()
    with stop_on_signals(cancel) as stop:
        assert stop.code == 0
        signal.raise_signal(number)
        assert cancel
    assert stop.code == code


def test_a_second_sigterm_unwinds() -> None:
    """A second SIGTERM does not wait for the turn; the exit code stays."""
    with stop_on_signals(Cancel()):
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(SystemExit) as caught:
            signal.raise_signal(signal.SIGTERM)
    assert caught.value.code == 143


def test_an_ignored_signal_stays_ignored() -> None:
    """Under nohup a SIGHUP does not stop the reply."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    cancel = Cancel()
    with stop_on_signals(cancel) as stop:
        signal.raise_signal(signal.SIGHUP)
    assert not cancel
    assert stop.code == 0


def test_no_op_outside_the_main_thread() -> None:
    """In another thread nothing is installed and nothing fails."""
    seen: list[object] = []

    def work() -> None:
        with stop_on_signals(Cancel()) as stop:
            seen.extend([stop.code, signal.getsignal(signal.SIGINT)])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0, signal.default_int_handler]


def test_a_real_signal_wakes_a_waiting_process() -> None:
    """A child that waits in a turn ends with 143 after a SIGTERM from outside."""
    program = (
        "import time\n"
        "from chatcli.core.cancel import Cancel\n"
        "from chatcli.terminal.interrupt import stop_on_signals\n"
        "cancel = Cancel()\n"
        "with stop_on_signals(cancel) as stop:\n"
        "    print('ready', flush=True)\n"
        "    while not cancel: time.sleep(0.01)\n"
        "raise SystemExit(stop.code)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        os.kill(child.pid, signal.SIGTERM)
        assert child.wait(timeout=10) == 143
