"""Downloads over HTTP that survive cut connections and go on where they stopped."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import httpx

from chatcli import __version__
from chatcli.catalogue.progress import Progress
from chatcli.catalogue.staging import Partial, require_space
from chatcli.core.errors import DownloadError

_ATTEMPTS = 3  # in a row without a byte of progress
_PAUSE_S = 0.5
_PIECE_BYTES = 1 << 18
_RESUME = "Run the command again: it goes on where it stopped"


_HOPELESS = (
    httpx.ConnectTimeout,
    httpx.ProxyError,
    httpx.TooManyRedirects,
    httpx.UnsupportedProtocol,
)


class Unreachable(DownloadError):
    """The host cannot be reached, or cannot serve now: another source may be tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to fetch, and what is known of it: `sha256` "" and `n_bytes` 0 mean unknown."""

    url: str
    sha256: str = ""
    n_bytes: int = 0
    token: str = ""

    @property
    def file_name(self) -> str:
        """The last word of the address."""
        return unquote(urlsplit(self.url).path.rpartition("/")[2])


@contextmanager
def open_client(read_timeout_s: float = 60.0) -> Iterator[httpx.Client]:
    """Yield a client that follows redirects and takes proxies from the environment.

    A redirect to another host loses the Authorization header (httpx sees to that).

    Raises:
        DownloadError: the environment names a proxy that cannot be used.
    """
    try:
        client = httpx.Client(
            follow_redirects=True,
            timeout=httpx.Timeout(15.0, read=read_timeout_s),
            # No compression: the bytes that are counted and resumed are those of the file.
            headers={"User-Agent": f"chatcli/{__version__}", "Accept-Encoding": "identity"},
        )
    except (ValueError, ImportError) as error:
        raise DownloadError(
            f"the proxy of the environment cannot be used: {error}",
            "See HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY",
        ) from error
    with client:
        yield client


def authorization(token: str) -> dict[str, str]:
    """Return the header that a token needs."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def checked(response: httpx.Response, url: str) -> httpx.Response:
    """Return a response that has content.

    Raises:
        Unreachable: the server cannot serve now.
        DownloadError: it will not.
    """
    status, host = response.status_code, urlsplit(url).hostname
    if response.is_success:
        return response
    if status in (401, 403):
        raise DownloadError(
            f"{host} refused {url} ({status})",
            "Set HF_TOKEN to a token whose owner has accepted the model's licence",
        )
    if status in (404, 410):
        raise DownloadError(f"{host} has no {url} ({status})", "See the name of the model")
    if status == 429 or status >= 500:
        raise Unreachable(f"{host} cannot serve {url} now ({status})", "Try again later")
    raise DownloadError(f"{host} answered {url} with status {status}")


def unreachable(url: str, error: httpx.HTTPError) -> Unreachable:
    """Return what a network error means for the user."""
    reason = str(error) or type(error).__name__
    return Unreachable(
        f"{urlsplit(url).hostname} cannot be reached: {reason}",
        "See the connection and HTTPS_PROXY",
    )


def fetch(client: httpx.Client, wanted: Wanted, partial: Partial, progress: Progress) -> str:
    """Fetch a file into `partial`, verify it, and return its sha256.

    Raises:
        Unreachable: the host cannot be reached; what has arrived is kept.
        DownloadError: the server refused, or has another file than the one wanted.
        CorruptModel: what arrived is not what was promised; it was removed.
        StorageError: it does not fit on the disk.
    """
    failures = 0
    while True:
        before = partial.size
        try:
            return _Transfer(client, wanted, partial, progress).run()
        except httpx.InvalidURL as error:
            raise DownloadError(f"{wanted.url} is not an address: {error}") from error
        except httpx.HTTPError as error:
            partial.flush()
            failures = 1 if partial.size > before else failures + 1
            if failures >= _ATTEMPTS or isinstance(error, _HOPELESS):
                found = unreachable(wanted.url, error)
                raise Unreachable(found.message, _RESUME if partial.size else found.hint) from error
            time.sleep(_PAUSE_S * failures)


class _Transfer:
    """One file: from where the partial file ends to the end, if the server agrees."""

    def __init__(
        self, client: httpx.Client, wanted: Wanted, partial: Partial, progress: Progress
    ) -> None:
        self._client = client
        self._wanted = wanted
        self._partial = partial
        self._progress = progress

    def run(self) -> str:
        """Resume if that is safe, else start over."""
        facts = self._partial.facts
        # Without a validator or a checksum, a new file could be glued to an old one's half.
        safe = facts.get("url") == self._wanted.url and (facts.get("etag") or self._wanted.sha256)
        if safe and self._partial.size:
            self._partial.load(self._progress, self._wanted.n_bytes)
            found = self._attempt(self._partial.size)
            if found is not None:
                return found
        self._partial.start_over()
        found = self._attempt(0)
        if found is None:
            raise DownloadError(
                f"{urlsplit(self._wanted.url).hostname} sent a part nobody asked for"
            )
        return found

    def _attempt(self, start: int) -> str | None:
        """Fetch from `start` on; None: the server has nothing that fits what is here."""
        headers = authorization(self._wanted.token)
        etag = str(self._partial.facts.get("etag", ""))
        if start:
            headers["Range"] = f"bytes={start}-"
            if etag:
                headers["If-Range"] = etag
        with self._client.stream("GET", self._wanted.url, headers=headers) as response:
            if start and response.status_code == 416:
                total = _number(response.headers.get("content-range", "").rpartition("/")[2])
                whole = total == start and total == (self._wanted.n_bytes or total)
                return self._finish(self._wanted.sha256, total) if whole else None
            checked(response, self._wanted.url)
            if not self._fits(response, start):
                if response.status_code == 206:
                    return None
                self._partial.start_over()
                start = 0
            return self._receive(response, start)

    def _fits(self, response: httpx.Response, start: int) -> bool:
        """Tell whether the body begins at `start` of the file whose first part is here."""
        if response.status_code != 206:
            return start == 0
        place = response.headers.get("content-range", "").removeprefix("bytes ").partition("-")[0]
        if place != str(start):
            return False
        facts = self._partial.facts
        return not start or all(
            not facts.get(key) or not now or facts[key] == now
            for key, now in (("etag", _etag(response)), ("linked", _linked_sha256(response)))
        )

    def _receive(self, response: httpx.Response, start: int) -> str:
        sha256 = self._promised_sha256(response)
        length = _number(response.headers.get("content-length", ""))
        total = start + length if length else self._wanted.n_bytes
        if self._wanted.n_bytes and total != self._wanted.n_bytes:
            raise DownloadError(
                f"{urlsplit(self._wanted.url).hostname} has a file of {total:,} bytes, "
                f"not the {self._wanted.n_bytes:,} expected",
                "The publisher changed the file; `chatcli show` names its sources",
            )
        require_space(self._partial.target.parent, total - start)
        self._partial.note(
            url=self._wanted.url, etag=_etag(response), linked=_linked_sha256(response)
        )
        self._progress(start, total, "download")
        for piece in response.iter_raw(_PIECE_BYTES):
            if self._partial.size == 0 and not piece.startswith(b"GGUF"):
                kind = response.headers.get("content-type", "nothing known")
                raise DownloadError(
                    f"{response.url.host} sent something that is not a GGUF file ({kind})",
                    "A login page or a proxy may have answered in its place",
                )
            self._partial.append(piece)
            self._progress(self._partial.size, total, "download")
        return self._finish(sha256, total)

    def _promised_sha256(self, response: httpx.Response) -> str:
        linked, known = _linked_sha256(response), self._wanted.sha256
        if linked and known and linked != known:
            raise DownloadError(
                f"{urlsplit(self._wanted.url).hostname} has another file than the one known: "
                f"checksum {linked[:16]}... instead of {known[:16]}...",
                "The publisher changed the file; `chatcli show` names its sources",
            )
        return known or linked

    def _finish(self, sha256: str, total: int) -> str:
        return self._partial.finish(sha256=sha256, n_bytes=total)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _etag(response: httpx.Response) -> str:
    """Return the strong validator: a weak one may not be used for ranges (RFC 9110, 13.1.5)."""
    etag = response.headers.get("etag", "")
    return "" if etag.startswith("W/") else str(etag)


def _linked_sha256(response: httpx.Response) -> str:
    """Return what the hub says of a large file, on its answer or on the redirect before it."""
    for one in (*response.history, response):
        found = str(one.headers.get("x-linked-etag", "")).removeprefix("W/").strip('"')
        if re.fullmatch(r"[0-9a-f]{64}", found):
            return found
    return ""
