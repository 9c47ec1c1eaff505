"""Signals while a reply is being written: they ask the turn to stop, and nothing else.

The turn then ends by its normal door, with its partial reply kept. Knows nothing about
turns; outside the main thread, where Python allows no handlers, everything here is a no-op.
"""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from chatcli.core.cancel import Cancel


class Stop:
    """Which signal came. `code` is the exit code for it (128 + number), 0 if none came."""

    def __init__(self, cancel: Cancel) -> None:
        self.code = 0
        self._cancel = cancel

    def _received(self, number: int, frame: FrameType | None) -> None:
        del frame
        again = self.code != 0
        self.code = self.code or 128 + number
        self._cancel.set()
        if again and number == signal.SIGINT:
            raise KeyboardInterrupt
        if again:
            # Asked twice to go: do not wait for the engine, but unwind, so that the
            # cursor and the line are restored.
            raise SystemExit(self.code)


@contextmanager
def _handled(numbers: Sequence[signal.Signals], cancel: Cancel) -> Iterator[Stop]:
    stop = Stop(cancel)
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    # A signal that is ignored stays so: `nohup`, and background jobs of a shell script.
    before = {
        number: handler
        for number in numbers
        if (handler := signal.getsignal(number)) is not signal.SIG_IGN
    }
    try:
        for number in before:
            signal.signal(number, stop._received)  # noqa: SLF001  the handler is not for callers
        yield stop
    finally:
        for number, handler in before.items():
            # None: a handler that was not set from Python; it cannot be put back from here.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def cancel_on_interrupt(cancel: Cancel) -> AbstractContextManager[Stop]:
    """Let the first Ctrl-C set `cancel`; a second one raises KeyboardInterrupt.

    The handler that was there before is put back at the end.
    """
    return _handled([signal.SIGINT], cancel)


def stop_on_signals(cancel: Cancel) -> AbstractContextManager[Stop]:
    """Let SIGINT, SIGTERM and SIGHUP set `cancel`, and remember which came.

    After the turn, `Stop.code` is 130, 143 or 129 (0 if none came): the process should
    exit with it. A second signal raises: KeyboardInterrupt for SIGINT, else SystemExit.
    """
    return _handled([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], cancel)
