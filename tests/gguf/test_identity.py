from pathlib import Path

import pytest

from chatcli.core.errors import CorruptModel
from chatcli.gguf import identity, read_header
from tests.gguf.made import small_gguf


def test_copies_have_one_identity_and_other_weights_another(tmp_path: Path) -> None:
    """The name of the file does not count; weights and metadata do."""
    one = identity(small_gguf(tmp_path / "one.gguf"))
    assert one == identity(small_gguf(tmp_path / "copy.gguf"))
    assert len(one) == 64
    assert one != identity(small_gguf(tmp_path / "other.gguf", fill=0.25))
    assert one != identity(small_gguf(tmp_path / "named.gguf", name="Other"))


def test_every_tensor_is_sampled(tmp_path: Path) -> None:
    """A changed first or last byte of any tensor changes the identity."""
    path = small_gguf(tmp_path / "one.gguf")
    header, whole, first = read_header(path), path.read_bytes(), identity(path)
    for tensor in header.tensors:
        for at in (0, tensor.n_bytes - 1):
            changed = bytearray(whole)
            changed[header.data_offset + tensor.offset + at] ^= 1
            path.write_bytes(changed)
            assert identity(path) != first


def test_a_cut_file_has_no_identity(tmp_path: Path) -> None:
    """A truncated file is refused."""
    path = small_gguf(tmp_path / "one.gguf")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptModel):
        identity(path)
