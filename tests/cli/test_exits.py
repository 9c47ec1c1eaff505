"""Streams that nobody reads must not make the end noisy."""

import io
import os
import sys

import pytest

from chatcli.cli.exits import all_streams, hush, told
from chatcli.core.errors import ChatcliError


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
