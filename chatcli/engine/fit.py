"""What fits: GPU layers by free device memory, context by free memory. Pure arithmetic.

Knows a GGUF header and numbers of bytes; asks no device itself.
"""

from collections.abc import Sequence

from chatcli.gguf import Header

DEVICE_RESERVE_BYTES = 400 << 20
"""Left free on each device: the driver's context, scratch buffers, the desktop."""

MEMORY_SHARE = 0.8
"""Share of the free main memory that a context may grow into."""


def kv_bytes(header: Header, n_ctx: int, kv_type: str, layer: int) -> int:
    """Bytes of one layer's cells in a context of `n_ctx` tokens."""
    cells = n_ctx
    if header.is_sliding(layer):
        # llama.cpp keeps the window and one micro-batch (llama_kv_cache_iswa).
        cells = min(n_ctx, header.sliding_window + 512)
    return cells * header.kv_bytes_per_token(layer, kv_type, kv_type)


def compute_bytes(header: Header, n_batch: int) -> int:
    """Estimate of the compute buffer: the logits and some activations of one micro-batch."""
    width = header.of_arch("embedding_length")
    wide = header.of_arch("feed_forward_length")
    return 4 * n_batch * (header.n_vocab + 8 * width + 2 * wide)


def gpu_layers(
    header: Header, free_bytes: Sequence[int], *, n_ctx: int, kv_type: str, n_batch: int = 512
) -> int:
    """Return llama.cpp's `n_gpu_layers` that fits into devices with `free_bytes` each.

    llama.cpp offloads the output first, then layers from the last one down; -1 means that
    everything fits. 0 means that not even the output does. Layers are spread over the
    devices in proportion to their memory, so the sum decides.
    """
    if not free_bytes:
        return 0
    room = sum(max(0, free - DEVICE_RESERVE_BYTES) for free in free_bytes)
    room -= compute_bytes(header, n_batch) * len(free_bytes) + header.other_bytes
    if room < 0:
        return 0
    layers = header.layer_bytes
    fitting = 1
    for layer in reversed(range(len(layers))):
        room -= layers[layer] + kv_bytes(header, n_ctx, kv_type, layer)
        if room < 0:
            return fitting
        fitting += 1
    return -1


def context_limit(
    kv_bytes_per_token: int, free_bytes: int, n_ctx_train: int, weight_bytes: int = 0
) -> int:
    """Return the longest context, in tokens, that the model and the free memory allow.

    `weight_bytes` are still to be loaded into the same memory.
    """
    if kv_bytes_per_token <= 0:
        return n_ctx_train
    room = int((free_bytes - weight_bytes) * MEMORY_SHARE) // kv_bytes_per_token
    return max(512, min(n_ctx_train, room // 256 * 256))


def total_kv_bytes_per_token(header: Header, kv_type: str) -> int:
    """Bytes that one more token takes over all layers that see the whole context."""
    return sum(
        header.kv_bytes_per_token(layer, kv_type, kv_type)
        for layer in range(header.n_layers)
        if not header.is_sliding(layer)
    )
