"""Streams that nobody reads must not make the end noisy."""

import io
import os
import signal
import subprocess
import sys
import time
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from chatcli.cli.exits import all_streams, hush, told, unwinding
from chatcli.core.errors import ChatcliError
from tests.architecture.source import ROOT

_PLAIN = {**os.environ, "PYTHONPATH": str(ROOT)}


def test_an_error_that_nobody_can_read_still_has_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """stderr closed or broken: the exit code is all that is left."""
    broken = io.StringIO()
    broken.close()
    for stream in (broken, None):
        monkeypatch.setattr(sys, "stderr", stream)
        assert told(ChatcliError("x"), debug=False) == 1


def test_hush_swallows_what_is_still_to_be_flushed() -> None:
    """A buffered write into a closed pipe goes nowhere instead of raising."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as stream:
        stream.write("lost")
        with pytest.raises(BrokenPipeError):
            stream.flush()
        hush(stream)
        stream.write("lost too")
    hush(io.StringIO())  # a stream without a descriptor is left alone


def test_missing_streams_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading finds nothing, writing goes nowhere."""
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    all_streams()
    given = (sys.stdin, sys.stdout, sys.stderr)
    try:
        assert sys.stdin.read() == ""
        assert sys.stdout.write("x") == 1
    finally:
        for stream in given:
            stream.close()


def _piped(data: bytes, encoding: str, errors: str) -> TextIOWrapper:
    return TextIOWrapper(BytesIO(data), encoding=encoding, errors=errors)


def test_what_is_piped_in_is_utf8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under LC_ALL=C too; a byte order mark is no part of the text."""
    monkeypatch.setattr(sys, "stdin", _piped("\ufeff\u00e9\n".encode(), "ascii", "surrogateescape"))
    all_streams()
    assert sys.stdin.read() == "\u00e9\n"


def test_broken_bytes_do_not_pass_in_disguise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's UTF-8 mode would make lone surrogates of them."""
    monkeypatch.setattr(sys, "stdin", _piped(b"\xff\n", "utf-8", "surrogateescape"))
    all_streams()
    with pytest.raises(UnicodeDecodeError):
        sys.stdin.read()


def test_a_bug_is_told_without_a_home_folder_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is then no place for the traceback."""
    monkeypatch.setenv("HOME", "~")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert told(ZeroDivisionError("x"), debug=False) == 1
    assert "--debug shows where" in capsys.readouterr().err


def test_a_signal_in_an_import_waits_for_its_end(tmp_path: Path) -> None:
    """Torn out of an import, Python keeps the lock that all other threads need."""
    (tmp_path / "slow.py").write_text(
        "import os, signal, time\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "time.sleep(0.1)\n"
        "print('imported')\n"
    )
    (tmp_path / "run.py").write_text(
        "import time\n"
        "from chatcli.cli.exits import unwinding\n"
        "try:\n"
        "    with unwinding():\n"
        "        import slow\n"
        "        time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    print('unwound')\n"
    )
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, env=_PLAIN, capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"imported\nunwound\n", b"")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_sigterm_and_sighup_unwind(number: int, code: int) -> None:
    """What is open is closed on the way; an ignored signal stays ignored."""
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as left, unwinding():
        signal.raise_signal(number)
    assert left.value.code == code
    assert signal.getsignal(number) is before
    signal.signal(number, signal.SIG_IGN)
    try:
        with unwinding():
            signal.raise_signal(number)
    finally:
        signal.signal(number, before)


def test_the_end_does_not_wait_for_a_load() -> None:
    """What was said is flushed; the code is the one that was asked for."""
    program = (
        "import threading, time; from chatcli.cli.exits import leave;"
        "threading.Thread(target=time.sleep, args=(60,), name='load m').start();"
        "print('said'); leave(130)"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program], env=_PLAIN, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, b"said\n")
    assert time.monotonic() - began < 30
