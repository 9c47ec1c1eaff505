"""GGUF headers: metadata, tensor sizes, truncation, identity.

Knows the file format, versions 2 and 3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md)
and the block sizes of ggml's types. Never reads weights, except samples for `identity`; knows
nothing of llama.cpp, devices or the catalogue.
"""

from chatcli.gguf.ggml import TENSOR_TYPES, TYPES_BY_NAME, TensorType
from chatcli.gguf.header import Header, Skipped, Tensor, Value
from chatcli.gguf.identity import identity
from chatcli.gguf.read import read_header, read_model, split_parts

__all__ = [
    "TENSOR_TYPES",
    "TYPES_BY_NAME",
    "Header",
    "Skipped",
    "Tensor",
    "TensorType",
    "Value",
    "identity",
    "read_header",
    "read_model",
    "split_parts",
]
