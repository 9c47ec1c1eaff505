"""The keyboard while no prompt reads it: nothing is echoed, nothing is lost.

What is typed waits for the next prompt, key by key as it was typed. Ctrl-C and Ctrl-Z still
make signals. Knows nothing about prompts or replies.
"""

import signal
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO


@contextmanager
def silence(stdin: TextIO, *, through_stops: bool = False) -> Iterator[None]:
    """Keep the terminal from echoing keys; a no-op where stdin is none.

    Enter stays a carriage return (no ICRNL), so that the prompt which reads it afterwards
    can tell it from Ctrl-J. `through_stops`: a shell sets the terminal up for itself after
    Ctrl-Z, so it is silenced again when the process goes on.
    """
    if not stdin.isatty():
        yield
        return
    fd = stdin.fileno()
    before = termios.tcgetattr(fd)
    quiet = termios.tcgetattr(fd)
    quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)

    def apply(_number: int = 0, _frame: FrameType | None = None) -> None:
        termios.tcsetattr(fd, termios.TCSADRAIN, quiet)

    watch = through_stops and threading.current_thread() is threading.main_thread()
    watched = signal.signal(signal.SIGCONT, apply) if watch else None
    try:
        apply()
        yield
    finally:
        if watch:
            signal.signal(signal.SIGCONT, watched or signal.SIG_DFL)
        _restore(fd, before)


def _restore(fd: int, attributes: "list[int | list[bytes | int]]") -> None:
    try:
        termios.tcsetattr(fd, termios.TCSADRAIN, attributes)
    except termios.error:
        # The terminal is gone (SIGHUP): there is nothing left to restore.
        return
