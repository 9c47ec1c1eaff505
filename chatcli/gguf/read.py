"""Reading a header from a file that may be damaged or made to harm.

Every length in a file is doubted: it is compared with the bytes that are really there before
anything is allocated.
"""

import io
import struct
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from chatcli.core.errors import CorruptModel
from chatcli.gguf.ggml import TENSOR_TYPES
from chatcli.gguf.header import REMEDY, Header, Number, Skipped, Tensor, Value, product

_MAX_ENTRIES = 1 << 16  # metadata keys; real files have fewer than 100
_MAX_TENSORS = 1 << 17  # real files have at most some thousands
_MAX_STRINGS = 1 << 24  # elements of a string array; the largest vocabulary today has 262,144
_MAX_KEPT_BYTES = 64 << 20  # of strings that are kept; the longest known template has 100 kB
_MAX_KEPT_NUMBERS = 4096  # longer numeric arrays are skipped
_WINDOW_BYTES = 1 << 20

_U64 = struct.Struct("<Q")
_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
"""`enum gguf_type` of gguf.h -> its bytes; strings and arrays apart."""


def read_header(path: Path) -> Header:
    """Read the header of one GGUF file (of a split model: of this part).

    Raises:
        CorruptModel: it is damaged, not a GGUF, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            return _parse(path, _Window(path, file))
    except OSError as error:
        raise CorruptModel(f"cannot read {path}: {error.strerror or error}") from error


def read_model(path: Path) -> Header:
    """Read the header of a whole model: of a split one, the parts' tensors together.

    Raises:
        CorruptModel: a part is damaged, cut off or missing.
    """
    first = read_header(path)
    first.check_complete()
    parts = [read_header(one) for one in split_parts(path, first)[1:]]
    for part in parts:
        part.check_complete()
    tensors = (*first.tensors, *(one for part in parts for one in part.tensors))
    n_bytes = first.file_bytes + sum(part.file_bytes for part in parts)
    return replace(first, tensors=tensors, file_bytes=n_bytes) if parts else first


def split_parts(path: Path, header: Header) -> tuple[Path, ...]:
    """Return the files of a model, first part first (``NAME-00001-of-00003.gguf``).

    Raises:
        CorruptModel: the file is not the first part, or its name does not follow the pattern.
    """
    count = header.number("split.count")
    if count <= 1:
        return (path,)
    ending = f"-00001-of-{count:05d}.gguf"
    if count > 99_999 or not path.name.endswith(ending):
        raise CorruptModel(
            f"{path} is one of {count} parts but not the first",
            f"Name the part that ends in {ending}",
        )
    stem = path.name.removesuffix(ending)
    return tuple(path.with_name(f"{stem}-{i:05d}-of-{count:05d}.gguf") for i in range(1, count + 1))


class _Window:
    """The header's bytes, through a window that moves over the file."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self.file_bytes = file.seek(0, io.SEEK_END)
        self._base = 0  # file position of the window's first byte
        self._bytes = b""
        self._at = 0  # position inside the window; may lie behind its end
        self._kept = 0

    @property
    def position(self) -> int:
        return self._base + self._at

    def fail(self, what: str) -> CorruptModel:
        return CorruptModel(f"{self._path} is not a usable GGUF file: {what}", REMEDY)

    def need(self, n: int) -> None:
        """Have `n` bytes in the window, or fail."""
        if self._at + n <= len(self._bytes):
            return
        start = self.position
        if start + n > self.file_bytes:
            raise self.fail("its header is cut off")
        self._file.seek(start)
        self._bytes = self._file.read(max(n, _WINDOW_BYTES))
        self._base, self._at = start, 0
        if len(self._bytes) < n:
            raise self.fail("its header is cut off")

    def take(self, n: int) -> bytes:
        self.need(n)
        self._at += n
        return self._bytes[self._at - n : self._at]

    def scalar(self, kind: int) -> Number:
        form = _SCALARS[kind]
        value: Number = form.unpack(self.take(form.size))[0]
        return value

    def u32(self) -> int:
        return int(self.scalar(4))

    def u64(self) -> int:
        return int(self.scalar(10))

    def string(self) -> str:
        n = self.u64()
        self._kept += n + 64
        if self._kept > _MAX_KEPT_BYTES:
            raise self.fail(f"a string of {n:,} bytes")
        return self.take(n).decode("utf-8", "replace")

    def skip(self, n: int) -> None:
        if self.position + n > self.file_bytes:
            raise self.fail("an array is longer than the file")
        self._at += n

    def skip_strings(self, n: int) -> None:
        """Step over `n` strings without building them: 0.1 us each."""
        unpack = _U64.unpack_from
        while n:
            self.need(8)
            window, at, done = self._bytes, self._at, 0
            try:
                for done in range(n):  # noqa: B007 - read in the handler
                    at += 8 + unpack(window, at)[0]
                n = 0
            except (struct.error, OverflowError):  # the window ends here
                n -= done
            self._at = at
            self.skip(0)


def _parse(path: Path, window: _Window) -> Header:
    version = _version(window)
    n_tensors, n_entries = window.u64(), window.u64()
    if n_tensors > _MAX_TENSORS or n_entries > _MAX_ENTRIES:
        raise window.fail(f"it claims {n_tensors:,} tensors and {n_entries:,} entries")
    metadata: dict[str, Value] = {}
    for _ in range(n_entries):
        key = window.string()
        if key in metadata:
            raise window.fail(f"the key {key!r} stands twice")
        metadata[key] = _value(window, window.u32())
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise window.fail(f"an alignment of {alignment!r}")
    tensors = tuple(_tensor(window, alignment) for _ in range(n_tensors))
    if len({tensor.name for tensor in tensors}) != n_tensors:
        raise window.fail("two tensors have the same name")
    return Header(
        path=path,
        version=version,
        metadata=metadata,
        tensors=tensors,
        data_offset=-(-window.position // alignment) * alignment,
        file_bytes=window.file_bytes,
    )


def _version(window: _Window) -> int:
    if window.file_bytes == 0:
        raise window.fail("it is empty")
    magic = window.take(min(4, window.file_bytes))
    if magic != b"GGUF":
        raise window.fail(f"it begins with {magic!r}")
    version = window.u32()
    if version not in (2, 3):
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
        what = "it is big-endian" if swapped in (2, 3) else f"format version {version}"
        raise window.fail(f"{what}, which cannot be read here")
    return version


def _value(window: _Window, kind: int) -> Value:
    if kind == _STRING:
        return window.string()
    if kind in _SCALARS:
        return window.scalar(kind)
    if kind != _ARRAY:
        raise window.fail(f"metadata of unknown type {kind}")
    kind, length = window.u32(), window.u64()
    if kind == _STRING:
        if length > min(_MAX_STRINGS, window.file_bytes // 8):
            raise window.fail(f"an array of {length:,} strings")
        window.skip_strings(length)
        return Skipped(kind, length)
    if kind not in _SCALARS:
        raise window.fail(f"an array of type {kind}")
    if length <= _MAX_KEPT_NUMBERS:
        return tuple(window.scalar(kind) for _ in range(length))
    window.skip(length * _SCALARS[kind].size)
    return Skipped(kind, length)


def _tensor(window: _Window, alignment: int) -> Tensor:
    name = window.string()
    n_dims = window.u32()
    if n_dims > 4:  # GGML_MAX_DIMS
        raise window.fail(f"the tensor {name!r} has {n_dims} dimensions")
    shape = tuple(window.u64() for _ in range(n_dims))
    code, offset = window.u32(), window.u64()
    kind = TENSOR_TYPES.get(code)
    if kind is None:
        raise window.fail(f"the tensor {name!r} has the unknown type {code}")
    n = product(shape)
    if n >= 1 << 63 or (shape and shape[0] % kind.block) or offset % alignment:
        raise window.fail(f"the tensor {name!r} has an impossible shape or place")
    return Tensor(name, shape, kind, offset, n // kind.block * kind.size)
