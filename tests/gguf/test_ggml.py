from gguf import GGML_QUANT_SIZES

from chatcli.gguf import TENSOR_TYPES


def test_sizes_are_those_of_the_publishers_package() -> None:
    """Every type that the reference package knows has the same block and bytes.

    Q8_1 (9) differs there: 40 bytes, where ggml's own `ggml_type_size` says 36. It is an
    intermediate type that no file holds.
    """
    ours = {code: (kind.block, kind.size) for code, kind in TENSOR_TYPES.items() if code != 9}
    theirs = {int(code): size for code, size in GGML_QUANT_SIZES.items() if code != 9}
    assert theirs.items() <= ours.items()
    assert TENSOR_TYPES[9].size == 36
