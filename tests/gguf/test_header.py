from dataclasses import replace
from pathlib import Path

import pytest

from chatcli.core.errors import CorruptModel
from chatcli.gguf import TENSOR_TYPES, Header, Tensor, Value, read_header
from tests.gguf.made import small_gguf


def _header(architecture: str, **values: Value) -> Header:
    metadata: dict[str, Value] = {"general.architecture": architecture}
    metadata |= {f"{architecture}.{key.replace('__', '.')}": one for key, one in values.items()}
    return Header(
        path=Path("made.gguf"),
        version=3,
        metadata=metadata,
        tensors=(),
        data_offset=64,
        file_bytes=64,
    )


def test_layer_bytes_and_the_rest_add_up(tmp_path: Path) -> None:
    """Each layer has its norm and its projection; the embedding belongs to none."""
    header = read_header(small_gguf(tmp_path / "tiny.gguf"))
    assert header.layer_bytes == (64 * 4 + 64 * 68,) * 2
    assert header.other_bytes == 50 * 64 * 2
    assert header.tensor_bytes == sum(header.layer_bytes) + header.other_bytes
    assert header.n_parameters == 50 * 64 + 2 * (64 + 64 * 64)


def test_names_fall_back_to_the_file(tmp_path: Path) -> None:
    """A file that says nothing has its own name, no template and no layers."""
    header = _header("llama")
    assert (header.name, header.chat_template, header.n_layers, header.n_vocab) == (
        "made",
        None,
        0,
        0,
    )
    named = read_header(small_gguf(tmp_path / "tiny.gguf"))
    assert (named.name, named.context_length, named.n_layers) == ("Tiny", 512, 2)


def test_kv_bytes_follow_the_heads_of_each_layer() -> None:
    """Per-layer head counts, own key and value lengths, and quantised types count."""
    plain = _header("llama", embedding_length=64, attention__head_count=4)
    assert plain.kv_bytes_per_token(0) == 2 * 4 * 16 * 2
    grouped = _header(
        "llama",
        embedding_length=64,
        attention__head_count=4,
        attention__head_count_kv=(2, 0, 1),
        attention__key_length=32,
        attention__value_length=64,
    )
    assert [grouped.kv_bytes_per_token(i) for i in range(3)] == [2 * 96 * 2, 0, 96 * 2]
    assert grouped.kv_bytes_per_token(0, "q8_0", "f16") == 2 * 34 + 2 * 64 * 2


def test_sliding_layers_follow_the_files_pattern_or_the_architectures() -> None:
    """A number, an array, or llama.cpp's own table says which layers slide."""
    gemma = _header("gemma3", attention__sliding_window=512)
    assert [gemma.is_sliding(i) for i in range(7)] == [True] * 5 + [False, True]
    array = _header(
        "x", attention__sliding_window=512, attention__sliding_window_pattern=(True, False)
    )
    assert [array.is_sliding(i) for i in range(3)] == [True, False, False]
    number = _header("x", attention__sliding_window=512, attention__sliding_window_pattern=2)
    assert [number.is_sliding(i) for i in range(4)] == [True, False, True, False]
    assert not _header("x", attention__sliding_window=512).is_sliding(0)
    assert not _header("gemma3").is_sliding(0)


def test_sliding_layers_may_have_their_own_lengths() -> None:
    """`key_length_swa` counts where the layer slides."""
    header = _header(
        "x",
        attention__sliding_window=8,
        attention__sliding_window_pattern=2,
        attention__head_count=1,
        attention__key_length=64,
        attention__value_length=64,
        attention__key_length_swa=32,
        attention__value_length_swa=32,
    )
    assert [header.kv_bytes_per_token(i) for i in range(2)] == [128, 256]


def test_a_promise_of_one_byte_too_many_is_told() -> None:
    """The last tensor must end inside the file."""
    tensor = Tensor("t", (16,), TENSOR_TYPES[0], 0, 64)
    cut = Header(
        path=Path("cut.gguf"),
        version=3,
        metadata={},
        tensors=(tensor,),
        data_offset=64,
        file_bytes=127,
    )
    with pytest.raises(CorruptModel, match=r"cut\.gguf is cut off: it has 127 bytes, 1 fewer"):
        cut.check_complete()


def test_wrong_types_in_the_metadata_are_taken_as_absent() -> None:
    """A string where a number belongs does not crash."""
    header = _header("llama", context_length="long", block_count=3.5)
    assert (header.context_length, header.n_layers) == (0, 0)


def test_hostile_numbers_make_no_list_and_no_crash() -> None:
    """A billion layers, an infinite head count, a layer number of 5,000 digits."""
    tensors = tuple(
        Tensor(f"blk.{n}.w", (1,), TENSOR_TYPES[0], 0, 4) for n in ("0", "9" * 5000, "x")
    )
    header = _header("llama", block_count=1 << 62, attention__head_count_kv=(float("inf"),))
    header = replace(header, tensors=tensors)
    assert header.layer_bytes == (4, 0, 0)
    assert header.other_bytes == 8
    assert header.kv_bytes_per_token(0) == 0
