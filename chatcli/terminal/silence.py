"""The keyboard while a reply is being written: nothing is echoed, nothing is lost.

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
def silence(stdin: TextIO) -> Iterator[None]:
    """Keep the terminal from echoing keys into the reply; a no-op where stdin is none.

    Enter stays a carriage return (no ICRNL), so that the prompt which reads it afterwards
    can tell it from Ctrl-J.
    """
    if not stdin.isatty():
        yield
        return
    fd = stdin.fileno()
    before = termios.tcgetattr(fd)
    quiet = termios.tcgetattr(fd)
    quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)

    def apply(_number: int, _frame: FrameType | None) -> None:
        termios.tcsetattr(fd, termios.TCSADRAIN, quiet)

    main = threading.current_thread() is threading.main_thread()
    # Back from Ctrl-Z: the shell has set the terminal up for itself.
    continued = signal.signal(signal.SIGCONT, apply) if main else None
    try:
        termios.tcsetattr(fd, termios.TCSADRAIN, quiet)
        yield
    finally:
        if main:
            signal.signal(signal.SIGCONT, continued or signal.SIG_DFL)
        _restore(fd, before)


def _restore(fd: int, attributes: "list[int | list[bytes | int]]") -> None:
    try:
        termios.tcsetattr(fd, termios.TCSADRAIN, attributes)
    except termios.error:
        # The terminal is gone (SIGHUP): there is nothing left to restore.
        return
