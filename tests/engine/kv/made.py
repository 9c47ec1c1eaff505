"""Blocks and stores for the tests, with payloads that a test can recognise."""

from collections.abc import Sequence
from pathlib import Path

from chatcli.engine.kv.block import Block, Prefixes
from chatcli.engine.kv.index import Space, Tally
from chatcli.engine.kv.store import Store, open_disk

NAMESPACE = b"n" * 32
SPACE = Space(namespace=NAMESPACE, library="lib", model="tiny", path="/")


def block(ids: Sequence[int], start: int = 0, namespace: bytes = NAMESPACE) -> Block:
    """Make the block of `ids` from `start` on."""
    keys = Prefixes(namespace, ids)
    return Block(namespace, keys.key(start), keys.key(len(ids)), start, tuple(ids[start:]))


def payload(made: Block, n_bytes: int = 100) -> bytes:
    """Return bytes that only this block has."""
    return (made.id * (n_bytes // 32 + 1))[:n_bytes]


def store(folder: Path, budget_bytes: int = 10**9) -> Store:
    """Open a store of the test's own."""
    return open_disk(folder, budget_bytes)


def put(into: Store, *blocks: Block, session: str = "s", n_bytes: int = 100) -> None:
    """Write blocks, as a turn of a session would."""
    for one in blocks:
        into.put(one, payload(one, n_bytes))
    into.note(session, [one.id for one in blocks], Tally(turns=1), SPACE)
    into.flush()


def chain(ids: Sequence[int], *ends: int) -> list[Block]:
    """Cut `ids` at `ends` into blocks that follow one another."""
    starts = (0, *ends[:-1])
    return [block(ids[:end], start) for start, end in zip(starts, ends, strict=True)]
