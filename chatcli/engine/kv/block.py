"""The format of a stored block, and the keys that chain blocks. Pure: bytes in, bytes out.

A block holds the memory cells of consecutive tokens, as llama.cpp laid them out, behind a
header (little-endian)::

    0    8  magic                  152   8  payload length
    8    2  format                 160  16  xxh3-128 of the payload
    10   2  kind                   176  4n  token ids
    12   4  header length          ...   8  xxh3-64 of all the above
    16  32  namespace
    48  32  parent: the key of the tokens before the block
    80  32  tail: the key of the tokens up to its end
    112 32  id: sha256(parent, kind, tokens)
    144  4  position of the first token
    148  4  n tokens

The key of a prefix is ``sha256(namespace + token ids)``. It does not depend on how the prefix
was cut into blocks, so that chats which share tokens share blocks, wherever each began.
"""

import hashlib
import struct
import sys
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import xxhash

FORMAT = 1
MAGIC = b"chatclKV"
MAX_TOKENS = 1024
"""More tokens in one block than any version writes."""
MAX_PAYLOAD_BYTES = 1 << 32

_FIXED = struct.Struct("<8sHHI32s32s32s32sIIQ16s")
_CHECK = struct.Struct("<Q")

Kind: TypeAlias = Literal["cells", "checkpoint"]
"""`cells`: memory of consecutive tokens; `checkpoint`: the recurrent state behind a prefix."""
NO_TAIL = bytes(32)
"""The tail of a checkpoint: nothing follows it."""
_KINDS: tuple[Kind, ...] = get_args(Kind)
Bytes: TypeAlias = bytes | bytearray | memoryview


class BadBlock(Exception):
    """The bytes are not a block, or not the one that was looked for."""


@dataclass(frozen=True, slots=True)
class Block:
    """What a header says of its block; `id` names it. A checkpoint has no tokens."""

    namespace: bytes
    parent: bytes
    tail: bytes
    start: int
    tokens: tuple[int, ...]
    kind: Kind = "cells"

    @property
    def id(self) -> bytes:
        """Its name: content that is equal has an equal one."""
        kind = bytes([_KINDS.index(self.kind)])
        return hashlib.sha256(self.parent + kind + pack(self.tokens)).digest()

    @property
    def end(self) -> int:
        """The position behind its last token."""
        return self.start + len(self.tokens)


@dataclass(frozen=True, slots=True)
class Head:
    """A header that was read: the block, where its payload lies, and the payload's hash."""

    block: Block
    header_bytes: int
    payload_bytes: int
    checksum: bytes

    @property
    def file_bytes(self) -> int:
        """The length of the whole file."""
        return self.header_bytes + self.payload_bytes


def pack(tokens: Sequence[int]) -> bytes:
    """Return token ids as little-endian 32-bit integers."""
    packed = array("I", tokens)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack(data: Bytes) -> tuple[int, ...]:
    """Return the token ids that `pack` packed."""
    packed = array("I", bytes(data))
    if sys.byteorder == "big":
        packed.byteswap()
    return tuple(packed)


class Prefixes:
    """The keys of all prefixes of one sequence of tokens, each computed at its first use."""

    def __init__(self, namespace: bytes, ids: Sequence[int]) -> None:
        self._packed = memoryview(pack(ids))
        self._at = [0]
        self._hashes = [hashlib.sha256(namespace)]

    def key(self, n: int) -> bytes:
        """Return the key of the first `n` tokens."""
        slot = bisect_right(self._at, n) - 1
        known = self._at[slot]
        if known == n:
            return self._hashes[slot].digest()
        # Goes on from the nearest shorter prefix: a walk along the chain hashes all once.
        longer = self._hashes[slot].copy()
        longer.update(self._packed[4 * known : 4 * n])
        self._at.insert(slot + 1, n)
        self._hashes.insert(slot + 1, longer)
        return longer.digest()


def checksum(payload: Bytes) -> bytes:
    """Return the hash that guards a payload."""
    return xxhash.xxh3_128_digest(payload)


def header_bytes(block: Block) -> int:
    """Return the length of a block's header."""
    return _FIXED.size + 4 * len(block.tokens) + _CHECK.size


def encode(block: Block, payload: Bytes) -> bytes:
    """Return the header that goes before `payload`."""
    fixed = _FIXED.pack(
        MAGIC,
        FORMAT,
        _KINDS.index(block.kind),
        header_bytes(block),
        block.namespace,
        block.parent,
        block.tail,
        block.id,
        block.start,
        len(block.tokens),
        len(payload),
        checksum(payload),
    )
    head = fixed + pack(block.tokens)
    return head + _CHECK.pack(xxhash.xxh3_64_intdigest(head))


def decode(data: Bytes) -> Head:
    """Read a header from the start of `data`, which may be a whole file or only a beginning.

    Raises:
        BadBlock: it is not one, or any byte of it is not as it was written.
    """
    if len(data) < _FIXED.size:
        raise BadBlock("shorter than a header")
    (magic, form, kind, length, namespace, parent, tail, name, start, n, n_payload, check) = (
        _FIXED.unpack_from(data)
    )
    if magic != MAGIC or form != FORMAT or kind >= len(_KINDS):
        raise BadBlock("not a block of this format")
    if n > MAX_TOKENS or n_payload > MAX_PAYLOAD_BYTES:
        raise BadBlock("longer than any block")
    if length != _FIXED.size + 4 * n + _CHECK.size or length > len(data):
        raise BadBlock("the header is cut off")
    body = memoryview(data)[: length - _CHECK.size]
    if _CHECK.unpack_from(data, length - _CHECK.size)[0] != xxhash.xxh3_64_intdigest(body):
        raise BadBlock("the header is damaged")
    block = Block(namespace, parent, tail, start, unpack(body[_FIXED.size :]), _KINDS[kind])
    if block.id != name:
        raise BadBlock("the header contradicts itself")
    return Head(block, length, n_payload, check)


def verified(data: Bytes, *, payload: bool = True) -> Head:
    """Read the header of a whole file, and check that the file is what it says.

    Raises:
        BadBlock: any byte is missing, added or changed (with `payload` false: in the header).
    """
    head = decode(data)
    if len(data) != head.file_bytes:
        raise BadBlock(f"{len(data):,} bytes instead of {head.file_bytes:,}")
    if payload and checksum(memoryview(data)[head.header_bytes :]) != head.checksum:
        raise BadBlock("the payload is damaged")
    return head
