"""The format: what was written is read, and nothing else is."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.engine.kv.block import (
    BadBlock,
    Block,
    Prefixes,
    decode,
    encode,
    header_bytes,
    pack,
    unpack,
    verified,
)
from tests.engine.kv.made import NAMESPACE, block

_IDS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=300)


@settings(deadline=None)
@given(_IDS, st.binary(max_size=2000), st.sampled_from(["cells", "checkpoint"]))
def test_what_was_written_is_read(ids: list[int], payload: bytes, kind: str) -> None:
    """Header and payload come back as they were."""
    made = block(ids)
    made = Block(made.namespace, made.parent, made.tail, 7, made.tokens, kind)  # type: ignore[arg-type]
    header = encode(made, payload)
    assert len(header) == header_bytes(made)
    head = verified(header + payload)
    assert (head.block, head.header_bytes, head.payload_bytes) == (made, len(header), len(payload))
    assert decode(header).block == made


@settings(deadline=None)
@given(_IDS, st.binary(min_size=1, max_size=600), st.data())
def test_any_flipped_bit_is_refused(ids: list[int], payload: bytes, data: st.DataObject) -> None:
    """No byte of a file can change without notice."""
    whole = bytearray(encode(block(ids), payload) + payload)
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(BadBlock):
        verified(whole)


@settings(deadline=None)
@given(_IDS, st.binary(max_size=600), st.data())
def test_any_other_length_is_refused(ids: list[int], payload: bytes, data: st.DataObject) -> None:
    """A file that was cut off, or has more behind its end, is not the block."""
    whole = encode(block(ids), payload) + payload
    n = data.draw(st.integers(0, len(whole) - 1))
    for changed in (whole[:n], whole + b"\0"):
        with pytest.raises(BadBlock):
            verified(changed)


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_noise_is_refused(noise: bytes) -> None:
    """Foreign bytes are an error of ours, never another one."""
    with pytest.raises(BadBlock):
        verified(noise)
    with pytest.raises(BadBlock):
        decode(encode(block([1]), b"")[:16] + noise)


def test_a_header_whose_lengths_lie_is_refused() -> None:
    """Lengths are checked before they are used, even under a checksum that is right."""
    import struct

    import xxhash

    whole = bytearray(encode(block([1, 2, 3]), b"xyz"))
    for at, size in ((12, 4), (148, 4), (152, 8)):
        forged = whole.copy()
        forged[at : at + size] = b"\xff" * size
        forged[-8:] = struct.pack("<Q", xxhash.xxh3_64_intdigest(bytes(forged[:-8])))
        with pytest.raises(BadBlock):
            decode(forged)


@settings(deadline=None)
@given(_IDS, st.lists(st.integers(0, 300), max_size=8))
def test_a_key_is_the_hash_of_the_prefix(ids: list[int], ends: list[int]) -> None:
    """However it is asked for, it is sha256 of the namespace and the ids."""
    keys = Prefixes(NAMESPACE, ids)
    for end in ends:
        n = min(end, len(ids))
        assert keys.key(n) == hashlib.sha256(NAMESPACE + pack(ids[:n])).digest()
    assert unpack(pack(ids)) == tuple(ids)
