"""What a GGUF header says: values only, no file is touched."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from chatcli.core.errors import CorruptModel
from chatcli.gguf.ggml import TYPES_BY_NAME, TensorType

REMEDY = "Remove the file and download it again"
"""What to do about a damaged file."""

# Where the file does not say it: each n-th layer is dense, the others slide. From the
# `set_swa_pattern(n)` calls of llama.cpp's src/models (commit of the 0.3.36 binding).
_SLIDING_EVERY = {"gemma2": 2, "gemma3": 6, "gemma3n": 5, "gpt-oss": 2, "cohere2": 4, "exaone4": 4}


@dataclass(frozen=True, slots=True)
class Skipped:
    """An array that was not kept: its GGUF element type and its length."""

    kind: int
    length: int


Number: TypeAlias = int | float
Value: TypeAlias = str | Number | tuple[Number, ...] | Skipped


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: `shape` is ggml's `ne`, innermost first; `offset` counts from the data."""

    name: str
    shape: tuple[int, ...]
    type: TensorType
    offset: int
    n_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a GGUF file says of itself. `data_offset` is where its tensors begin."""

    path: Path
    version: int
    metadata: Mapping[str, Value] = field(repr=False)
    tensors: tuple[Tensor, ...] = field(repr=False)
    data_offset: int
    file_bytes: int

    def text(self, key: str) -> str | None:
        """Return a string of the metadata, None if it is missing or not a string."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str, default: int = 0) -> int:
        """Return a whole number of the metadata; of an array, its largest element."""
        value = self.metadata.get(key)
        if isinstance(value, tuple):
            return max((one for one in value if isinstance(one, int)), default=default)
        return int(value) if isinstance(value, int) else default

    def of_arch(self, key: str, default: int = 0) -> int:
        """Return a whole number filed under the architecture's own prefix."""
        return self.number(f"{self.architecture}.{key}", default)

    def _per_layer(self, key: str, layer: int, default: int) -> int:
        value = self.metadata.get(f"{self.architecture}.{key}")
        if isinstance(value, tuple):
            value = value[layer] if layer < len(value) else None
        return int(value) if isinstance(value, int) else default

    @property
    def architecture(self) -> str:
        """llama.cpp's name of the architecture, such as ``llama`` or ``qwen2``."""
        return self.text("general.architecture") or ""

    @property
    def name(self) -> str:
        """The publisher's name, else the file's."""
        return self.text("general.name") or self.path.stem

    @property
    def context_length(self) -> int:
        """Tokens that the model was trained for; 0 if it does not say."""
        return self.of_arch("context_length")

    @property
    def n_layers(self) -> int:
        """Blocks of the model."""
        return self.of_arch("block_count")

    @property
    def n_vocab(self) -> int:
        """Entries of the vocabulary; 0 if the file has none."""
        tokens = self.metadata.get("tokenizer.ggml.tokens")
        return tokens.length if isinstance(tokens, Skipped) else 0

    @property
    def chat_template(self) -> str | None:
        """The Jinja chat template; None: not a chat model."""
        return self.text("tokenizer.chat_template")

    @property
    def n_parameters(self) -> int:
        """Elements of all tensors."""
        return sum(product(tensor.shape) for tensor in self.tensors)

    @property
    def tensor_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(tensor.n_bytes for tensor in self.tensors)

    @property
    def layer_bytes(self) -> tuple[int, ...]:
        """Bytes of the tensors ``blk.N.*``, layer by layer."""
        found: dict[int, int] = {}
        for tensor in self.tensors:
            layer = _layer_of(tensor.name)
            found[layer] = found.get(layer, 0) + tensor.n_bytes
        # A layer has a tensor at least: a hostile count makes no list.
        return tuple(found.get(i, 0) for i in range(min(self.n_layers, len(self.tensors))))

    @property
    def other_bytes(self) -> int:
        """Bytes of what belongs to no layer: embeddings, output, norms."""
        return self.tensor_bytes - sum(self.layer_bytes)

    @property
    def sliding_window(self) -> int:
        """Tokens that a sliding layer sees; 0: every layer sees all."""
        return self.of_arch("attention.sliding_window")

    def is_sliding(self, layer: int) -> bool:
        """Tell whether a layer sees only the sliding window."""
        if not self.sliding_window:
            return False
        pattern = self.metadata.get(f"{self.architecture}.attention.sliding_window_pattern")
        if isinstance(pattern, tuple):
            return layer < len(pattern) and bool(pattern[layer])
        every = int(pattern) if isinstance(pattern, int) else _SLIDING_EVERY.get(self.architecture)
        return every is not None and (every == 0 or layer % every < every - 1)

    def kv_bytes_per_token(self, layer: int, type_k: str = "f16", type_v: str = "f16") -> int:
        """Bytes that one token takes in the KV cache of one layer (0 in a recurrent layer).

        From llama.cpp's `n_embd_k_gqa` and `n_embd_v_gqa`: KV heads times head length.
        """
        heads = self._per_layer("attention.head_count", layer, 1)
        kv_heads = self._per_layer("attention.head_count_kv", layer, heads)
        head = self.of_arch("embedding_length") // max(1, heads)
        sliding = "_swa" if self.is_sliding(layer) else ""
        key, value = (
            self.of_arch(f"attention.{part}_length{sliding}")
            or self.of_arch(f"attention.{part}_length", head)
            for part in ("key", "value")
        )
        return TYPES_BY_NAME[type_k].row_bytes(kv_heads * key) + TYPES_BY_NAME[type_v].row_bytes(
            kv_heads * value
        )

    def check_complete(self) -> None:
        """Compare what the header promises with the size of the file.

        Raises:
            CorruptModel: the file ends before its tensors do.
        """
        end = max((one.offset + one.n_bytes for one in self.tensors), default=0)
        missing = self.data_offset + end - self.file_bytes
        if self.tensors and missing > 0:
            raise CorruptModel(
                f"{self.path} is cut off: it has {self.file_bytes:,} bytes, "
                f"{missing:,} fewer than its header promises",
                REMEDY,
            )


def product(shape: tuple[int, ...]) -> int:
    """Number of elements of a shape."""
    total = 1
    for extent in shape:
        total *= extent
    return total


def _layer_of(name: str) -> int:
    head, _, rest = name.partition(".")
    number = rest.partition(".")[0]
    known = head == "blk" and number.isascii() and number.isdigit() and len(number) < 7
    return int(number) if known else -1
