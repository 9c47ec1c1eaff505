"""A hub of our own: a local HTTP server that speaks Range and ETag, and can misbehave."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar


@dataclass
class Served:
    """A file as the server gives it.

    `cuts`: after how many bytes each of the next answers breaks off. `length`: a lie.
    """

    content: bytes = b""
    etag: str = ""
    linked: str = ""
    redirect: str = ""
    status: int = 200
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    length: int | None = None
    kind: str = "application/octet-stream"
    links: str = ""
    gate: threading.Event | None = None


@dataclass
class Server:
    """What is served at `url`, and which requests came: (path, headers)."""

    url: str
    files: dict[str, Served]
    requests: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: ClassVar[Server]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        pass

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        path = self.path
        self.state.requests.append((path, {k.lower(): v for k, v in self.headers.items()}))
        one = self.state.files.get(path)
        if one is None:
            one = Served(status=404)
        if one.redirect:
            self._head(302, 0, {"Location": one.redirect, "X-Linked-Etag": one.linked})
            return
        if one.status != 200:
            self._head(one.status, 0, {})
            return
        self._body(one)

    def _head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.end_headers()

    def _body(self, one: Served) -> None:
        start, status, size = 0, 200, len(one.content)
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        same = self.headers.get("If-Range", one.etag) == one.etag
        headers = {"ETag": one.etag, "Content-Type": one.kind, "Link": one.links}
        headers["X-Linked-Etag"] = one.linked
        if asked and one.ranges and same:
            start, status = int(asked[1]), 206
            if start >= size:
                self._head(416, 0, {"Content-Range": f"bytes */{size}"})
                return
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        body = one.content[start:]
        self._head(status, one.length if one.length is not None else len(body), headers)
        if one.gate:
            one.gate.wait(20)
        cut = one.cuts.pop(0) if one.cuts else None
        with suppress(BrokenPipeError, ConnectionResetError):  # the client had seen enough
            self.wfile.write(body if cut is None else body[:cut])
        if cut is not None or one.length is not None:
            self.close_connection = True


@contextmanager
def serving(files: Mapping[str, Served] | None = None) -> Iterator[Server]:
    """Serve `files` (address path -> file) on a free port of this machine."""

    class Handler(_Handler):
        pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        state = Server(f"http://127.0.0.1:{http.server_address[1]}", dict(files or {}))
        Handler.state = state
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            http.shutdown()
            thread.join()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def listing(files: Mapping[str, bytes], *, lfs: bool = True) -> bytes:
    """Return the answer of the hub's tree call."""
    return json.dumps(
        [{"type": "directory", "path": "sub", "size": 0, "oid": "x"}]
        + [
            {
                "type": "file",
                "path": path,
                "size": len(content),
                "oid": "git",
                **({"lfs": {"oid": sha256(content), "size": len(content)}} if lfs else {}),
            }
            for path, content in files.items()
        ]
    ).encode()
