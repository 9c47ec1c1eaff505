"""The fit puts as much on the GPU as there is room for, and never more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.engine.fit import (
    DEVICE_RESERVE_BYTES,
    compute_bytes,
    context_limit,
    gpu_layers,
    kv_bytes,
    total_kv_bytes_per_token,
)
from chatcli.gguf import Header, read_header
from tests.tiny_gguf import write_tiny


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> Header:
    """The header of the tiny model."""
    return read_header(write_tiny(tmp_path_factory.mktemp("fit") / "tiny.gguf"))


def _need(header: Header, n_ctx: int, layers: int) -> int:
    """Bytes for the output and the last `layers` layers on one device."""
    last = range(header.n_layers - layers, header.n_layers)
    weights = sum(header.layer_bytes[i] + kv_bytes(header, n_ctx, "f16", i) for i in last)
    return DEVICE_RESERVE_BYTES + compute_bytes(header, 512) + header.other_bytes + weights


def test_everything_fits_to_the_byte(header: Header) -> None:
    """With exactly the needed memory all layers go; with one byte less, one stays."""
    need = _need(header, 4096, 2)
    assert gpu_layers(header, [need], n_ctx=4096, kv_type="f16") == -1
    assert gpu_layers(header, [need - 1], n_ctx=4096, kv_type="f16") == 2
    assert gpu_layers(header, [_need(header, 4096, 1) - 1], n_ctx=4096, kv_type="f16") == 1
    assert gpu_layers(header, [_need(header, 4096, 0) - 1], n_ctx=4096, kv_type="f16") == 0


def test_without_a_device_nothing_is_offloaded(header: Header) -> None:
    """A CPU build has no room at all."""
    assert gpu_layers(header, [], n_ctx=4096, kv_type="f16") == 0


@given(free=st.integers(0, 1 << 32), n_ctx=st.integers(256, 1 << 20))
def test_more_memory_never_means_fewer_layers(header: Header, free: int, n_ctx: int) -> None:
    """The fit is monotone in memory, and antitone in context."""

    def layers(free_bytes: int, context: int) -> int:
        n = gpu_layers(header, [free_bytes], n_ctx=context, kv_type="f16")
        return header.n_layers + 1 if n < 0 else n

    assert layers(free + (1 << 20), n_ctx) >= layers(free, n_ctx)
    assert layers(free, n_ctx * 2) <= layers(free, n_ctx)


def test_kv_bytes_follow_from_the_header(header: Header) -> None:
    """Two layers of 4 heads of 16, key and value, two bytes each."""
    assert total_kv_bytes_per_token(header, "f16") == 2 * 2 * 64 * 2
    assert total_kv_bytes_per_token(header, "q8_0") == 2 * 2 * 68


def test_the_context_is_bound_by_model_and_memory() -> None:
    """The smaller of the two, in steps of 256, and never absurdly small."""
    assert context_limit(1 << 10, 1 << 40, 8192) == 8192
    assert context_limit(1 << 10, 10 << 20, 1 << 20) == 8192
    assert context_limit(1 << 20, 1 << 20, 8192) == 512
    assert context_limit(0, 0, 8192) == 8192
