"""Writes a small LFM2 with random weights: short convolutions and attention in turn."""

from pathlib import Path

import gguf
import numpy as np

from tests.tiny_gguf import CHATML, TOKENS, add_vocabulary

N_EMBD, N_HEAD, N_FF, CONV = 64, 2, 64, 3
ATTENTION = (False, True, False, True)


def write_tiny_lfm2(path: Path, *, context: int = 8192, seed: int = 0) -> Path:
    """Write a four-layer hybrid model, and return its path."""
    writer = gguf.GGUFWriter(str(path), "lfm2")
    writer.add_name("tiny lfm2")
    writer.add_context_length(context)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(len(ATTENTION))
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(N_HEAD)
    writer.add_head_count_kv([N_HEAD if attends else 0 for attends in ATTENTION])
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(1e6)
    writer.add_shortconv_l_cache(CONV)
    add_vocabulary(writer)
    writer.add_chat_template(CHATML)
    _add_tensors(writer, seed)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tensors(writer: gguf.GGUFWriter, seed: int) -> None:
    rng = np.random.default_rng(seed)

    def weight(name: str, rows: int, columns: int) -> None:
        data = rng.standard_normal((rows, columns)) * 0.3
        writer.add_tensor(f"{name}.weight", data.astype(np.float32))

    def norm(name: str, size: int = N_EMBD) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(size, np.float32))

    weight("token_embd", len(TOKENS), N_EMBD)
    norm("token_embd_norm")
    for i, attends in enumerate(ATTENTION):
        norm(f"blk.{i}.attn_norm")
        norm(f"blk.{i}.ffn_norm")
        weight(f"blk.{i}.ffn_gate", N_FF, N_EMBD)
        weight(f"blk.{i}.ffn_up", N_FF, N_EMBD)
        weight(f"blk.{i}.ffn_down", N_EMBD, N_FF)
        if attends:
            norm(f"blk.{i}.attn_q_norm", N_EMBD // N_HEAD)
            norm(f"blk.{i}.attn_k_norm", N_EMBD // N_HEAD)
            for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
                weight(f"blk.{i}.{name}", N_EMBD, N_EMBD)
        else:
            weight(f"blk.{i}.shortconv.conv", N_EMBD, CONV)
            weight(f"blk.{i}.shortconv.in_proj", 3 * N_EMBD, N_EMBD)
            weight(f"blk.{i}.shortconv.out_proj", N_EMBD, N_EMBD)
