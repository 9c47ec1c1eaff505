import json

import pytest

from chatcli.catalogue.entries import HubSource
from chatcli.catalogue.hub import HubFile, choose, list_files, resolve
from chatcli.catalogue.transfer import Unreachable, open_client
from chatcli.core.errors import DownloadError, ModelNotFound
from tests.catalogue.served import Served, Server, listing, serving, sha256

TREE = "/api/models/u/r/tree/main?recursive=true"


def _files(*names: str) -> list[HubFile]:
    return [HubFile(name, 1, "") for name in names]


def _chosen(files: list[HubFile], quant: str = "", file: str = "") -> list[str]:
    return [one.path for one in choose(files, HubSource("u/r", file, quant))]


REPO = _files(
    "README.md",
    "m-Q8_0.gguf",
    "m-Q4_K_M.gguf",
    "m-UD-Q4_K_XL.gguf",
    "mmproj-m-Q4_K_M.gguf",
    "BF16/m-BF16-00001-of-00002.gguf",
    "BF16/m-BF16-00002-of-00002.gguf",
)


@pytest.mark.parametrize(
    ("quant", "chosen"),
    [
        ("", ["m-Q4_K_M.gguf"]),
        ("q8_0", ["m-Q8_0.gguf"]),
        ("UD-Q4_K_XL", ["m-UD-Q4_K_XL.gguf"]),
        ("BF16", ["BF16/m-BF16-00001-of-00002.gguf", "BF16/m-BF16-00002-of-00002.gguf"]),
    ],
)
def test_a_quantisation_means_a_file_or_all_its_parts(quant: str, chosen: list[str]) -> None:
    """Without one, Q4_K_M comes first; projectors are never taken."""
    assert _chosen(REPO, quant) == chosen


def test_without_a_known_quantisation_the_only_file_is_taken() -> None:
    """A repository with one oddly named file needs no choice."""
    assert _chosen(_files("model.gguf")) == ["model.gguf"]


def test_the_first_part_stands_for_all() -> None:
    """A named part of a split file brings the others with it."""
    chosen = _chosen(REPO, file="BF16/m-BF16-00001-of-00002.gguf")
    assert len(chosen) == 2


def test_what_is_not_there_is_told_with_what_is() -> None:
    """The hint lists the files to choose from."""
    with pytest.raises(ModelNotFound, match=r"u/r has no Q2_K\. It has .*m-Q8_0\.gguf"):
        _chosen(REPO, "Q2_K")
    with pytest.raises(ModelNotFound, match="no GGUF file"):
        _chosen(_files("model.safetensors"))
    with pytest.raises(ModelNotFound, match="lacks m-00002-of-00002"):
        _chosen(_files("m-00001-of-00002.gguf"))


def test_the_listing_gives_sizes_and_checksums_over_all_pages(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lfs.oid` is the sha256; following pages are fetched; the token is sent."""
    monkeypatch.setenv("HF_TOKEN", "secret")
    following = f'<{server.url}/page2>; rel="next"'
    server.files[TREE] = Served(listing({"a.gguf": b"aa"}), links=following)
    server.files["/page2"] = Served(listing({"b.gguf": b"bbb"}, lfs=False))
    with open_client() as client:
        found = list_files(client, server.url, "u/r")
    assert found == [HubFile("a.gguf", 2, sha256(b"aa")), HubFile("b.gguf", 3, "")]
    assert [headers["authorization"] for _, headers in server.requests] == ["Bearer secret"] * 2


def test_the_token_does_not_follow_a_listing_to_another_host(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A next page elsewhere is not fetched."""
    monkeypatch.setenv("HF_TOKEN", "secret")
    with serving({"/page2": Served(b"[]")}) as other, open_client() as client:
        server.files[TREE] = Served(listing({}), links=f'<{other.url}/page2>; rel="next"')
        assert list_files(client, server.url, "u/r") == []
        assert other.requests == []


@pytest.mark.parametrize("answer", [b"<html>", b'{"error": "x"}', json.dumps(3).encode()])
def test_a_senseless_listing_is_told(server: Server, answer: bytes) -> None:
    """Whatever the hub answers, nothing crashes."""
    server.files[TREE] = Served(answer)
    with open_client() as client:
        if answer.startswith(b"{"):
            assert list_files(client, server.url, "u/r") == []
            return
        with pytest.raises(DownloadError, match="did not answer with a listing"):
            list_files(client, server.url, "u/r")


def test_no_repository_and_no_hub_are_different_errors(server: Server) -> None:
    """A mistyped repository is final; a dead hub lets a mirror be tried."""
    with open_client() as client:
        with pytest.raises(DownloadError, match="has no") as caught:
            list_files(client, server.url, "u/r")
        assert not isinstance(caught.value, Unreachable)
        with serving() as gone:
            url = gone.url
        with pytest.raises(Unreachable):
            list_files(client, url, "u/r")


def test_a_named_file_needs_no_listing(server: Server) -> None:
    """One request less where the file is known; odd characters are quoted."""
    with open_client() as client:
        (wanted,) = resolve(client, f"{server.url}/", HubSource("u/r", "a b.gguf"))
    assert wanted.url == f"{server.url}/u/r/resolve/main/a%20b.gguf"
    assert wanted.file_name == "a b.gguf"
    assert server.requests == []
