"""The Hugging Face hub: addresses, listings, and which file a quantisation means."""

import os
import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import httpx

from chatcli.catalogue.entries import HubSource
from chatcli.catalogue.transfer import Wanted, authorization, checked, unreachable
from chatcli.core.errors import DownloadError, ModelNotFound

_PREFERRED = ("Q4_K_M", "MXFP4", "Q4_K_S", "Q4_0", "Q5_K_M", "Q6_K", "Q8_0", "F16", "BF16")
"""What is taken when no quantisation is asked for: small, with little loss; then larger."""

_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)
_MAX_PAGES = 20
_MAX_SHOWN = 12


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository, as its listing states it."""

    path: str
    n_bytes: int
    sha256: str


def hub_token() -> str:
    """Return the user's token for the hub, "" if there is none."""
    return os.environ.get("HF_TOKEN", "").strip()


def resolve(client: httpx.Client, hub: str, source: HubSource) -> list[Wanted]:
    """Return what to fetch for a source: one file, or all parts of a split one.

    Raises:
        Unreachable: the hub cannot be reached.
        DownloadError: there is no such repository.
        ModelNotFound: the repository has no such file or quantisation.
    """
    if source.file and not _PART.search(source.file):
        return [Wanted(url=_address(hub, source.repo, source.file), token=hub_token())]
    chosen = choose(list_files(client, hub, source.repo), source)
    return [
        Wanted(
            url=_address(hub, source.repo, one.path),
            sha256=one.sha256,
            n_bytes=one.n_bytes,
            token=hub_token(),
        )
        for one in chosen
    ]


def _address(hub: str, repo: str, file: str) -> str:
    return f"{hub.rstrip('/')}/{quote(repo)}/resolve/main/{quote(file)}"


def list_files(client: httpx.Client, hub: str, repo: str) -> list[HubFile]:
    """Return the files of a repository, all pages of the listing.

    Raises:
        Unreachable: the hub cannot be reached.
        DownloadError: there is no such repository, or the answer makes no sense.
    """
    url = f"{hub.rstrip('/')}/api/models/{quote(repo)}/tree/main?recursive=true"
    found: list[HubFile] = []
    for _ in range(_MAX_PAGES):
        try:
            response = checked(client.get(url, headers=authorization(hub_token())), url)
            found += [one for one in map(_file, response.json()) if one]
        except httpx.HTTPError as error:
            raise unreachable(url, error) from error
        except (ValueError, TypeError) as error:
            raise DownloadError(f"{url} did not answer with a listing: {error}") from error
        following = response.links.get("next", {}).get("url", "")
        if urlsplit(following).netloc != urlsplit(url).netloc:
            break
        url = following
    return found


def _file(values: object) -> HubFile | None:
    if not isinstance(values, dict) or values.get("type") != "file":
        return None
    path, size, lfs = values.get("path"), values.get("size"), values.get("lfs")
    if not isinstance(path, str) or not isinstance(size, int):
        return None
    oid = str(lfs.get("oid", "")) if isinstance(lfs, dict) else ""
    return HubFile(path, size, oid if re.fullmatch(r"[0-9a-f]{64}", oid) else "")


def choose(files: list[HubFile], source: HubSource) -> list[HubFile]:
    """Return the file that a source means, or all parts of it.

    Raises:
        ModelNotFound: there is none; the hint names what there is.
    """
    weights = [
        one
        for one in files
        # A projector ("mmproj") is the eye of a model, not a model.
        if one.path.lower().endswith(".gguf") and "mmproj" not in one.path.lower()
    ]
    heads = [one for one in weights if _part_number(one.path) in (0, 1)]
    if source.file:
        chosen = [one for one in weights if one.path == source.file]
    elif source.quant:
        chosen = [one for one in heads if _is_quant(one.path, source.quant)]
    else:
        chosen = next(
            (
                found
                for kind in _PREFERRED
                if (found := [f for f in heads if _is_quant(f.path, kind)])
            ),
            heads,
        )
    if not chosen:
        raise _no_such(heads, source)
    best = min(chosen, key=lambda one: (len(one.path), one.path))
    return _parts(weights, best)


def _part_number(path: str) -> int:
    found = _PART.search(path)
    return int(found[1]) if found else 0


def _is_quant(path: str, quant: str) -> bool:
    bare = _PART.sub("", path).removesuffix(".gguf")
    return re.search(rf"(^|[-._/]){re.escape(quant)}($|[-._/])", bare, re.IGNORECASE) is not None


def _parts(weights: list[HubFile], head: HubFile) -> list[HubFile]:
    found = _PART.search(head.path)
    if not found:
        return [head]
    stem, count = head.path[: found.start()], int(found[2])
    by_path = {one.path: one for one in weights}
    names = [f"{stem}-{i:05d}-of-{count:05d}.gguf" for i in range(1, count + 1)]
    missing = [name for name in names if name not in by_path]
    if missing:
        raise ModelNotFound(f"the repository lacks {missing[0]}, a part of a split model")
    return [by_path[name] for name in names]


def _no_such(heads: list[HubFile], source: HubSource) -> ModelNotFound:
    names = sorted(one.path for one in heads)[:_MAX_SHOWN]
    wanted = source.file or source.quant or "GGUF file"
    hint = (
        f"It has {', '.join(names)}" if names else "See whether another repository has GGUF files"
    )
    return ModelNotFound(f"{source.repo} has no {wanted}", hint)
