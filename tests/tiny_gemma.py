"""Writes a small Gemma 3 with random weights: sliding windows in five layers of six."""

from pathlib import Path

import gguf
import numpy as np

from tests.tiny_gguf import CHATML, TOKENS, add_vocabulary

N_EMBD, N_HEAD, HEAD, N_FF, N_LAYER = 64, 2, 32, 64, 6
WINDOW = 64


def write_tiny_gemma(path: Path, *, context: int = 8192, seed: int = 0) -> Path:
    """Write a six-layer model with a window of 64 tokens, and return its path."""
    writer = gguf.GGUFWriter(str(path), "gemma3")
    writer.add_name("tiny gemma")
    writer.add_context_length(context)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(N_LAYER)
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(N_HEAD)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_sliding_window(WINDOW)
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
    norm("output_norm")
    for i in range(N_LAYER):
        for name in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            norm(f"blk.{i}.{name}")
        norm(f"blk.{i}.attn_q_norm", HEAD)
        norm(f"blk.{i}.attn_k_norm", HEAD)
        weight(f"blk.{i}.attn_q", N_HEAD * HEAD, N_EMBD)
        weight(f"blk.{i}.attn_k", HEAD, N_EMBD)
        weight(f"blk.{i}.attn_v", HEAD, N_EMBD)
        weight(f"blk.{i}.attn_output", N_EMBD, N_HEAD * HEAD)
        weight(f"blk.{i}.ffn_gate", N_FF, N_EMBD)
        weight(f"blk.{i}.ffn_up", N_FF, N_EMBD)
        weight(f"blk.{i}.ffn_down", N_EMBD, N_FF)
