"""Small GGUF files, made by the publishers' own writer."""

from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter

TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


def small_gguf(
    path: Path, *, n_layers: int = 2, n_vocab: int = 50, fill: float = 0.5, name: str = "Tiny"
) -> Path:
    """Write a llama-like file of some kilobytes: F32, F16 and Q8_0 tensors."""
    writer = GGUFWriter(str(path), "llama")
    writer.add_name(name)
    writer.add_context_length(512)
    writer.add_block_count(n_layers)
    writer.add_embedding_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv([2, 1, *[1] * n_layers][:n_layers])
    writer.add_chat_template(TEMPLATE)
    writer.add_token_list([f"token-{i}" for i in range(n_vocab)])
    writer.add_token_scores([0.0] * 5000)
    writer.add_bool("test.flag", val=True)
    writer.add_tensor("token_embd.weight", np.full((n_vocab, 64), fill, dtype=np.float16))
    for layer in range(n_layers):
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", np.full(64, fill, dtype=np.float32))
        blocks = np.zeros((64, 2 * 34), dtype=np.uint8)
        writer.add_tensor(f"blk.{layer}.attn_q.weight", blocks, raw_dtype=GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
