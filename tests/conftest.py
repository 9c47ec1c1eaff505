"""The models that tests share: downloaded once, by our own code, to `.build/models`."""

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

from chatcli.catalogue.entries import find_entry
from chatcli.catalogue.load import parse_catalogue
from chatcli.catalogue.progress import quiet, quiet_progress
from chatcli.catalogue.pull import fetch_model, file_sha256
from chatcli.catalogue.reference import downloadable
from chatcli.settings import Settings

# These machines are shared: a test that takes 0.1 ms alone may take a second.
hypothesis_settings.register_profile("shared", deadline=None)
hypothesis_settings.load_profile("shared")

_ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def _signals_are_heard() -> Iterator[None]:
    """A background job of a script (`make test &`, nohup) is started with signals ignored.

    The tests, and the programs that they start, are about what these signals do.
    """
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    hang_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGHUP, hang_up)


def _shared_model(name: str) -> Path:
    catalogue = _ROOT / "models" / "catalogue.yaml"
    entry = find_entry(parse_catalogue(catalogue.read_text(), catalogue), name)
    assert entry is not None
    path = _ROOT / ".build" / "models" / entry.file
    if not path.is_file() or file_sha256(path, quiet_progress) != entry.sha256:
        item = replace(downloadable(entry), folder=path.parent)
        fetch_model(item, Settings(), say=quiet, progress=quiet_progress)
    return path


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The embedded model, verified."""
    return _shared_model("smollm2:135m")


@pytest.fixture(scope="session")
def qwen_coder() -> Path:
    """The larger of the two test models, verified."""
    return _shared_model("qwen2.5-coder:0.5b")
