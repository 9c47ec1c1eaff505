"""Writes small GGUF models with random weights: real files that load in milliseconds.

The vocabulary is byte-level BPE with one token per byte and a few control tokens, so that
any text can be tokenised and detokenised exactly.
"""

from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]


def _byte_tokens() -> list[str]:
    """The printable stand-ins of GPT-2's byte-level BPE (`bytes_to_unicode`)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, extra = {}, 0
    for byte in range(256):
        if byte in plain:
            table[byte] = chr(byte)
        else:
            table[byte] = chr(256 + extra)
            extra += 1
    return [table[byte] for byte in range(256)]


N_EMBD, N_HEAD, N_FF, N_LAYER = 64, 2, 128, 2
TOKENS = [*SPECIALS, *_byte_tokens(), "aa"]


def write_tiny(
    path: Path,
    *,
    template: str | None = CHATML,
    metadata: Mapping[str, float | int] | None = None,
    context: int = 4096,
    seed: int = 0,
) -> Path:
    """Write a two-layer llama of about 300 kB and return its path."""
    writer = gguf.GGUFWriter(str(path), "llama")
    _add_shape(writer, context)
    add_vocabulary(writer)
    if template is not None:
        writer.add_chat_template(template)
    for key, value in (metadata or {}).items():
        if key.endswith("context_length"):
            writer.add_uint32(key, int(value))
        elif isinstance(value, int):
            writer.add_int32(key, value)
        else:
            writer.add_float32(key, value)
    _add_tensors(writer, seed)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_shape(writer: gguf.GGUFWriter, context: int) -> None:
    writer.add_name("tiny")
    writer.add_context_length(context)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(N_LAYER)
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(N_HEAD)
    writer.add_head_count_kv(N_HEAD)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(N_EMBD // N_HEAD)


def add_vocabulary(writer: gguf.GGUFWriter) -> None:
    """Add a token for each byte, and a few control tokens."""
    kinds = [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.USER_DEFINED] * 2
    kinds += [gguf.TokenType.NORMAL] * (len(TOKENS) - len(kinds))
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(TOKENS)
    writer.add_token_types(kinds)
    writer.add_token_merges(["a a"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)


def _add_tensors(writer: gguf.GGUFWriter, seed: int) -> None:
    rng = np.random.default_rng(seed)

    def weight(name: str, rows: int, columns: int) -> None:
        data = rng.standard_normal((rows, columns)) * 0.4
        writer.add_tensor(f"{name}.weight", data.astype(np.float32))

    def norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(N_EMBD, np.float32))

    weight("token_embd", len(TOKENS), N_EMBD)
    norm("output_norm")
    weight("output", len(TOKENS), N_EMBD)
    for i in range(N_LAYER):
        norm(f"blk.{i}.attn_norm")
        norm(f"blk.{i}.ffn_norm")
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weight(f"blk.{i}.{name}", N_EMBD, N_EMBD)
        weight(f"blk.{i}.ffn_gate", N_FF, N_EMBD)
        weight(f"blk.{i}.ffn_up", N_FF, N_EMBD)
        weight(f"blk.{i}.ffn_down", N_EMBD, N_FF)
