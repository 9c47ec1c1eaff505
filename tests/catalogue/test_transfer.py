from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from chatcli.catalogue import transfer
from chatcli.catalogue.staging import Partial
from chatcli.catalogue.transfer import Unreachable, Wanted, fetch, open_client
from chatcli.core.errors import CorruptModel, DownloadError, StorageError
from tests.catalogue.conftest import Heard
from tests.catalogue.served import Served, Server, serving, sha256


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "_PAUSE_S", 0.01)


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with open_client(2.0) as one:
        yield one


def _fetch(client: httpx.Client, wanted: Wanted, target: Path, heard: Heard) -> str:
    with Partial(target) as partial:
        return fetch(client, wanted, partial, heard.progress)


def test_a_file_arrives_verified_and_is_renamed(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """The checksum is computed on the way, and no partial file remains."""
    server.files["/w.gguf"] = Served(weights)
    target = tmp_path / "m" / "w.gguf"
    wanted = Wanted(url=f"{server.url}/w.gguf", sha256=sha256(weights), n_bytes=len(weights))
    assert _fetch(client, wanted, target, heard) == sha256(weights)
    assert target.read_bytes() == weights
    assert [path.name for path in target.parent.iterdir()] == ["w.gguf"]
    assert heard.steps[-1] == (len(weights), len(weights), "download")
    assert server.requests[0][1]["accept-encoding"] == "identity"


def test_cut_connections_are_resumed_in_one_run(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """Each new request asks for what is missing only, and names the version it has."""
    server.files["/w.gguf"] = Served(weights, etag='"v1"', cuts=[1000, 2000, 3000])
    target = tmp_path / "w.gguf"
    assert _fetch(client, Wanted(url=f"{server.url}/w.gguf"), target, heard) == sha256(weights)
    ranges = [headers.get("range") for _, headers in server.requests]
    assert ranges == [None, "bytes=1000-", "bytes=3000-", "bytes=6000-"]
    assert server.requests[1][1]["if-range"] == '"v1"'


def test_a_later_run_goes_on_and_hashes_what_is_there(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """After a failed run, the next one reads the part that is here and asks for the rest."""
    server.files["/w.gguf"] = Served(weights, etag='"v1"', cuts=[5000, 0, 0, 0])
    target, wanted = tmp_path / "w.gguf", Wanted(url=f"{server.url}/w.gguf")
    with pytest.raises(Unreachable, match="goes on where it stopped"):
        _fetch(client, wanted, target, heard)
    assert (tmp_path / "w.gguf.partial").stat().st_size == 5000
    server.files["/w.gguf"].cuts = []
    assert _fetch(client, wanted, target, heard) == sha256(weights)
    assert server.requests[-1][1]["range"] == "bytes=5000-"
    assert (5000, 0, "check") in heard.steps


def test_a_changed_file_is_started_over(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """An old half is never glued to a new one: If-Range makes the server send all of it."""
    server.files["/w.gguf"] = Served(weights[:-9] + b"old-bytes", etag='"v1"', cuts=[5000, 0, 0, 0])
    target, wanted = tmp_path / "w.gguf", Wanted(url=f"{server.url}/w.gguf")
    with pytest.raises(Unreachable):
        _fetch(client, wanted, target, heard)
    server.files["/w.gguf"] = Served(weights, etag='"v2"')
    assert _fetch(client, wanted, target, heard) == sha256(weights)
    assert target.read_bytes() == weights


def test_a_server_that_ignores_if_range_is_seen_through(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """A part with another ETag is refused and the file fetched from its start."""
    partial = tmp_path / "w.gguf.partial"
    partial.write_bytes(b"GGUF" + bytes(996))
    facts = f'{{"url": "{server.url}/w.gguf", "etag": "", "linked": "{"0" * 64}"}}'
    (tmp_path / "w.gguf.partial.json").write_text(facts)
    digest = sha256(weights)
    server.files["/w.gguf"] = Served(weights, linked=f'"{digest}"')
    wanted = Wanted(url=f"{server.url}/w.gguf", sha256=digest)
    assert _fetch(client, wanted, tmp_path / "w.gguf", heard) == digest
    assert [headers.get("range") for _, headers in server.requests] == ["bytes=1000-", None]


def test_without_ranges_or_validators_a_download_starts_over(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """Where resuming is impossible or unsafe, the whole file is fetched again."""
    for served in (Served(weights, etag='"v"', ranges=False), Served(weights, etag='W/"weak"')):
        served.cuts = [4000]
        server.files["/w.gguf"] = served
        target = tmp_path / "w.gguf"
        assert _fetch(client, Wanted(url=f"{server.url}/w.gguf"), target, heard) == sha256(weights)
        assert target.read_bytes() == weights


def test_a_whole_partial_file_is_taken_as_it_is(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """Killed between the last byte and the rename: the server has no more (416)."""
    (tmp_path / "w.gguf.partial").write_bytes(weights)
    facts = f'{{"url": "{server.url}/w.gguf", "etag": "x"}}'
    (tmp_path / "w.gguf.partial.json").write_text(facts)
    server.files["/w.gguf"] = Served(weights, etag="x")
    wanted = Wanted(url=f"{server.url}/w.gguf", sha256=sha256(weights), n_bytes=len(weights))
    assert _fetch(client, wanted, tmp_path / "w.gguf", heard) == sha256(weights)
    assert len(server.requests) == 1


def test_a_wrong_checksum_is_told_and_nothing_kept(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """A file that is not the published one never gets its name."""
    server.files["/w.gguf"] = Served(weights)
    with pytest.raises(CorruptModel, match=r"w\.gguf has the checksum .* Nothing of it was kept"):
        _fetch(
            client, Wanted(url=f"{server.url}/w.gguf", sha256="0" * 64), tmp_path / "w.gguf", heard
        )
    assert list(tmp_path.glob("w.gguf*")) == []


def test_a_truncated_gguf_is_told_and_nothing_kept(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """A whole download of a file that was cut at its source is refused by its header."""
    server.files["/w.gguf"] = Served(weights[:-100])
    with pytest.raises(CorruptModel, match="cut off"):
        _fetch(client, Wanted(url=f"{server.url}/w.gguf"), tmp_path / "w.gguf", heard)
    assert list(tmp_path.glob("w.gguf*")) == []


def test_a_server_that_lies_about_the_length_is_refused_before_the_body(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """Another size than the known one: no byte is downloaded."""
    server.files["/w.gguf"] = Served(weights)
    wanted = Wanted(url=f"{server.url}/w.gguf", n_bytes=len(weights) + 1)
    with pytest.raises(DownloadError, match="has a file of"):
        _fetch(client, wanted, tmp_path / "w.gguf", heard)
    assert heard.steps == []


def test_a_promise_of_more_bytes_than_come_is_a_lost_connection(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """Content-Length too large: what came is kept for the next run, not used."""
    server.files["/w.gguf"] = Served(weights, length=len(weights) + 10, ranges=False)
    with pytest.raises(Unreachable):
        _fetch(client, Wanted(url=f"{server.url}/w.gguf"), tmp_path / "w.gguf", heard)
    assert not (tmp_path / "w.gguf").exists()


def test_a_web_page_in_place_of_a_model_is_told(
    server: Server, client: httpx.Client, tmp_path: Path, heard: Heard
) -> None:
    """The login page of a hotel is not written as a model."""
    server.files["/w.gguf"] = Served(b"<html>log in</html>", kind="text/html")
    with pytest.raises(DownloadError, match=r"not a GGUF file \(text/html\)"):
        _fetch(client, Wanted(url=f"{server.url}/w.gguf"), tmp_path / "w.gguf", heard)


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (401, DownloadError, "HF_TOKEN"),
        (403, DownloadError, "HF_TOKEN"),
        (404, DownloadError, "has no"),
        (418, DownloadError, "418"),
        (429, Unreachable, "cannot serve"),
        (503, Unreachable, "cannot serve"),
    ],
)
def test_each_refusal_has_its_sentence(
    server: Server,
    client: httpx.Client,
    tmp_path: Path,
    heard: Heard,
    status: int,
    kind: type[DownloadError],
    said: str,
) -> None:
    """Only a server that cannot serve now lets a mirror be tried."""
    server.files["/w.gguf"] = Served(status=status)
    with pytest.raises(DownloadError, match=said) as caught:
        _fetch(client, Wanted(url=f"{server.url}/w.gguf"), tmp_path / "w.gguf", heard)
    assert type(caught.value) is kind


def test_nobody_listening_is_unreachable(
    client: httpx.Client, tmp_path: Path, heard: Heard
) -> None:
    """A refused connection is one line that names the host."""
    with serving() as gone:
        url = gone.url
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1 cannot be reached"):
        _fetch(client, Wanted(url=f"{url}/w.gguf"), tmp_path / "w.gguf", heard)


def test_a_token_is_not_sent_to_another_host(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """The hub sees the token; the store it redirects to does not."""
    with serving({"/blob": Served(weights)}) as store:
        server.files["/w.gguf"] = Served(
            redirect=f"{store.url}/blob", linked=f'"{sha256(weights)}"'
        )
        wanted = Wanted(url=f"{server.url}/w.gguf", token="secret")
        assert _fetch(client, wanted, tmp_path / "w.gguf", heard) == sha256(weights)
        assert server.requests[0][1]["authorization"] == "Bearer secret"
        assert "authorization" not in store.requests[0][1]


def test_the_hubs_checksum_is_believed_over_the_stores_content(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """Where no checksum is known, the one stated on the redirect must hold."""
    with serving({"/blob": Served(weights)}) as store:
        server.files["/w.gguf"] = Served(redirect=f"{store.url}/blob", linked=f'"{"a" * 64}"')
        with pytest.raises(CorruptModel, match="checksum"):
            _fetch(client, Wanted(url=f"{server.url}/w.gguf"), tmp_path / "w.gguf", heard)


def test_a_changed_publication_is_refused_before_the_body(
    server: Server, client: httpx.Client, weights: bytes, tmp_path: Path, heard: Heard
) -> None:
    """The hub states another checksum than the catalogue: nothing is downloaded."""
    server.files["/w.gguf"] = Served(weights, linked="b" * 64)
    wanted = Wanted(url=f"{server.url}/w.gguf", sha256=sha256(weights))
    with pytest.raises(DownloadError, match="another file than the one known"):
        _fetch(client, wanted, tmp_path / "w.gguf", heard)
    assert heard.steps == []


def test_too_little_disk_is_told_before_the_body(
    server: Server,
    client: httpx.Client,
    weights: bytes,
    tmp_path: Path,
    heard: Heard,
) -> None:
    """A server that announces more than any disk has is refused at its announcement."""
    server.files["/w.gguf"] = Served(weights, length=10**18)
    with pytest.raises(StorageError, match="are needed in"):
        _fetch(client, Wanted(url=f"{server.url}/w.gguf"), tmp_path / "w.gguf", heard)
    assert heard.steps == []


def test_a_senseless_address_and_a_senseless_proxy_are_one_line(
    client: httpx.Client, tmp_path: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the user mistyped is named."""
    with pytest.raises(DownloadError, match="is not an address"):
        _fetch(client, Wanted(url="http://host:port/w.gguf"), tmp_path / "w.gguf", heard)
    monkeypatch.setenv("HTTPS_PROXY", "gopher://proxy:70")
    with pytest.raises(DownloadError, match="proxy of the environment"), open_client():
        pass


def test_proxies_of_the_environment_are_used(
    server: Server, weights: bytes, tmp_path: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP_PROXY gets the request for a host that does not exist."""
    server.files["http://models.invalid/w.gguf"] = Served(weights)
    monkeypatch.setenv("HTTP_PROXY", server.url)
    with open_client(2.0) as client:
        wanted = Wanted(url="http://models.invalid/w.gguf")
        assert _fetch(client, wanted, tmp_path / "w.gguf", heard) == sha256(weights)


@profile(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cuts=st.lists(st.integers(1, 9000), max_size=6))
def test_wherever_it_is_cut_the_file_is_the_same(
    weights: bytes, tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    """Any sequence of broken connections leads to the same bytes."""
    target = tmp_path_factory.mktemp("cut") / "w.gguf"
    with (
        serving({"/w": Served(weights, etag='"v"', cuts=list(cuts))}) as hub,
        open_client() as http,
    ):
        assert _fetch(http, Wanted(url=f"{hub.url}/w"), target, Heard()) == sha256(weights)
    assert target.read_bytes() == weights
