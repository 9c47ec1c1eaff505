"""How the program ends: an error becomes one line on stderr and an exit code.

0 ok, 1 failure, 2 usage, 3 blocked, 4 cut by a limit, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP.
A reader that has gone (`| head -1`) is no failure: it has got what it wanted, so 0.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from types import FrameType
from typing import NoReturn, TextIO

from chatcli.core.errors import ChatcliError

OK = 0
FAILURE = 1
USAGE = 2
INTERRUPTED = 130
PIPE_CLOSED = OK


_RETRY_S = 0.01
"""How long a signal waits that came in the middle of an import."""


@contextmanager
def unwinding() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP unwind the block; one that is ignored stays so (nohup)."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    known = {number: signal.getsignal(number) for number in numbers}
    before = {number: old for number, old in known.items() if old is not signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, _unwind)
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old or signal.SIG_DFL)


def _unwind(number: int, frame: FrameType | None) -> None:
    if _importing(frame):
        # Python leaves the lock of all imports held when it is torn out of one just then,
        # and the thread that loads the model would wait for ever. Come back when it is over.
        signal.signal(signal.SIGALRM, lambda _, later: _unwind(number, later))
        signal.setitimer(signal.ITIMER_REAL, _RETRY_S)
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def leave(code: int) -> NoReturn:
    """End the process; a model that is still being loaded is not waited for."""
    loading = any(thread.name.startswith("load") for thread in threading.enumerate())
    if not loading:
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def told(error: Exception, *, debug: bool, command: str = "") -> int:
    """Say what went wrong in one line on stderr; return the exit code.

    `debug`: the traceback stands above the line. `command` is whose help may help.
    """
    from chatcli.core.printable import visible_line

    if debug:
        import traceback

        traceback.print_exception(error)
    text, code = _line(error, command)
    if sys.stderr is not None:
        _write(sys.stderr, f"chatcli: {visible_line(text)}\n")
    return code


def _line(error: Exception, command: str) -> tuple[str, int]:
    if isinstance(error, ChatcliError):
        return str(error), error.exit_code
    from typer import Abort
    from typer.exceptions import TyperException

    if isinstance(error, TyperException):
        return _usage(error, command), error.exit_code
    if isinstance(error, Abort):
        return "given up", FAILURE
    if isinstance(error, OSError):
        # The disk, the terminal, the reader: the machine's business, not a bug.
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return f"{where}{error.strerror or error}", FAILURE
    if isinstance(error, MemoryError):
        return "out of memory. Use a smaller model, input or --ctx-size", FAILURE
    return _unexpected(error), FAILURE


def _usage(error: Exception, command: str) -> str:
    """Return typer's complaint about an option or an argument as one sentence and a remedy."""
    # NoSuchOption and the like are private classes of typer: only their attributes are known.
    option = getattr(error, "option_name", None)
    near = getattr(error, "possibilities", None)
    text = str(getattr(error, "message", error)).rstrip(".")
    if option and text.startswith("No such option"):
        text = f"there is no option {option}"
        if near:
            return f"{text}. Did you mean {near[0]}?"
        if command == "ask":
            return f"{text}. See `chatcli ask --help`; words that begin with a dash go behind --"
    elif text.startswith("Got unexpected extra argument"):
        # The likeliest reason: a question that begins with a command's name.
        return f"{text[0].lower()}{text[1:]}. If this is a question: chatcli ask ..."
    else:
        formatted = str(getattr(error, "format_message", lambda: text)()).rstrip(".")
        text = f"{formatted[:1].lower()}{formatted[1:]}"
    return f"{text}. See `chatcli {command} --help`".replace("  ", " ")


def _unexpected(error: Exception) -> str:
    """Keep the traceback of an error that is our fault, and say where."""
    import traceback

    from chatcli.log import logs_dir, open_log

    kind = type(error).__name__
    text = f"unexpected {kind}: {error}. This is a bug"
    try:
        file = logs_dir() / "errors.log"
    except ChatcliError:
        return f"{text}; --debug shows where"
    before = _size(str(file))
    open_log("errors").error("%s", "".join(traceback.format_exception(error)))
    kept = _size(str(file)) != before  # a log that cannot be written is left out silently
    return f"{text}; the traceback is in {file}" if kept else f"{text}; --debug shows where"


def _size(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116  a missing file is told apart cheaply
    except OSError:
        return -1


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        hush(stream)  # nobody listens; the code still tells


def remark(text: str) -> None:
    """Say something on stderr that the user may find helpful; dim where colours are welcome."""
    from chatcli.terminal.env import Env
    from chatcli.terminal.theme import DIM, RESET

    dim = Env.current().color_err
    _write(sys.stderr, f"{DIM}{text}{RESET}\n" if dim else f"{text}\n")


def hush(stream: TextIO) -> None:
    """Make the interpreter's last flush of a stream that is broken silent."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, stream.fileno())
    except (OSError, ValueError):
        return  # it has no descriptor: a test's stream in memory
    finally:
        os.close(nothing)


def all_streams() -> None:
    """Give the process the standard streams that it was started without (`chatcli >&-`).

    Text that is piped in is UTF-8 whatever the locale is, and what is none is refused: under
    LC_ALL=C Python would pass broken bytes on in disguise.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123  lives as long as the process
    if isinstance(sys.stdin, TextIOWrapper) and not sys.stdin.isatty():
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict")
