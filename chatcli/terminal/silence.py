"""The keyboard while no prompt reads it: nothing is echoed, nothing is lost.

What is typed waits for the next prompt, key by key as it was typed. Ctrl-C and Ctrl-Z still
make signals. Knows nothing about prompts or replies.
"""

import os
import signal
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO, TypeAlias

_Attributes: TypeAlias = "list[int | list[bytes | int]]"


@contextmanager
def silence(stdin: TextIO) -> Iterator[None]:
    """Keep the terminal from echoing keys; a no-op where stdin is none.

    Enter stays a carriage return (no ICRNL), so that the prompt which reads it afterwards
    can tell it from Ctrl-J. After Ctrl-Z the terminal is as before, for shells that do not
    see to that themselves; back in the foreground it is silent again.
    """
    if not stdin.isatty():
        yield
        return
    fd = stdin.fileno()
    before = termios.tcgetattr(fd)
    quiet = termios.tcgetattr(fd)
    quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    with _lifted_by_stops(fd, before):
        try:
            termios.tcsetattr(fd, termios.TCSADRAIN, quiet)
            yield
        finally:
            _set(fd, before)


def _set(fd: int, attributes: _Attributes) -> None:
    # OSError's kin: the terminal is gone (SIGHUP), and there is nothing left to restore.
    with suppress(termios.error):
        termios.tcsetattr(fd, termios.TCSADRAIN, attributes)


@contextmanager
def _lifted_by_stops(fd: int, before: _Attributes) -> Iterator[None]:
    """Give the terminal back while the process is stopped by Ctrl-Z."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN:
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        # What holds now is put back, not `quiet`: an editor or a prompt may be in charge.
        now = termios.tcgetattr(fd)
        _set(fd, before)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, stop)
        _set(fd, now)

    handler = signal.signal(signal.SIGTSTP, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, handler or signal.SIG_DFL)
