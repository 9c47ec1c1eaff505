import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from gguf import GGUFReader
from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.core.errors import CorruptModel
from chatcli.gguf import Skipped, read_header, read_model, split_parts
from tests.gguf.made import TEMPLATE, small_gguf

HEAD = b"GGUF" + struct.pack("<I", 3)


def _string(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def _refused(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(CorruptModel) as caught:
        read_header(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value.message


def test_metadata_and_tensors_are_those_of_the_reference_reader(tmp_path: Path) -> None:
    """Our reader and the publishers' agree on every tensor and on the data's place."""
    path = small_gguf(tmp_path / "tiny.gguf")
    header, reference = read_header(path), GGUFReader(path)
    assert header.data_offset == reference.data_offset
    assert [
        (t.name, t.shape, t.n_bytes, header.data_offset + t.offset) for t in header.tensors
    ] == [(t.name, tuple(t.shape.tolist()), t.n_bytes, t.data_offset) for t in reference.tensors]
    assert header.chat_template == TEMPLATE
    assert header.metadata["test.flag"] is True
    assert header.metadata["llama.attention.head_count_kv"] == (2, 1)
    assert header.file_bytes == path.stat().st_size


def test_big_arrays_are_skipped_and_their_length_kept(tmp_path: Path) -> None:
    """Vocabulary and scores are stepped over; what follows them is read."""
    header = read_header(small_gguf(tmp_path / "tiny.gguf", n_vocab=70))
    assert header.metadata["tokenizer.ggml.tokens"] == Skipped(8, 70)
    assert header.metadata["tokenizer.ggml.scores"] == Skipped(6, 5000)
    assert header.n_vocab == 70


def test_strings_longer_than_the_window_are_stepped_over(tmp_path: Path) -> None:
    """An array whose strings cross the window's end is followed exactly."""
    strings = [b"x" * n for n in (0, 1 << 20, 3, (1 << 20) - 5, 0, 7)]
    body = struct.pack("<QQ", 0, 2) + _string(b"list") + struct.pack("<IIQ", 9, 8, len(strings))
    body += b"".join(_string(s) for s in strings)
    path = tmp_path / "long.gguf"
    path.write_bytes(HEAD + body + _string(b"after") + struct.pack("<Ii", 5, -7))
    header = read_header(path)
    assert header.metadata == {"list": Skipped(8, 6), "after": -7}


def test_150_thousand_tokens_leave_no_string_behind(tmp_path: Path) -> None:
    """A vocabulary of Qwen's size is skipped: only its length is kept."""
    body = struct.pack("<QQ", 0, 1) + _string(b"t") + struct.pack("<IIQ", 9, 8, 151_936)
    path = tmp_path / "vocabulary.gguf"
    path.write_bytes(HEAD + body + _string(b"a token") * 151_936)
    tracemalloc.start()
    header = read_header(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert header.metadata == {"t": Skipped(8, 151_936)}
    assert peak < 4 << 20


def test_a_file_cut_anywhere_is_told(tmp_path: Path) -> None:
    """Wherever the file ends early, it is either refused at once or by `check_complete`."""
    whole = small_gguf(tmp_path / "tiny.gguf").read_bytes()
    path = tmp_path / "cut.gguf"
    for size in [*range(0, 400, 7), *range(400, len(whole), 997), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(CorruptModel):
            read_header(path).check_complete()


def test_the_whole_file_is_complete(tmp_path: Path) -> None:
    """`check_complete` is silent about an undamaged file, with or without trailing bytes."""
    path = small_gguf(tmp_path / "tiny.gguf")
    read_header(path).check_complete()
    path.write_bytes(path.read_bytes() + b"\0" * 40)
    read_header(path).check_complete()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"GG", "begins with"),
        (b"<!DOCTYPE html>", "begins with b'<!DO'"),
        (b"GGUF" + struct.pack("<I", 1), "version 1"),
        (b"GGUF" + struct.pack(">I", 3), "big-endian"),
        (HEAD, "cut off"),
        (HEAD + struct.pack("<QQ", 1 << 62, 0), "claims"),
        (HEAD + struct.pack("<QQ", 0, 1 << 62), "claims"),
        (HEAD + struct.pack("<QQQ", 0, 1, 1 << 63), "a string of"),
        (HEAD + struct.pack("<QQQ", 0, 1, 1000), "cut off"),
        (HEAD + struct.pack("<QQ", 0, 1) + _string(b"k") + struct.pack("<I", 99), "unknown type"),
        (
            HEAD + struct.pack("<QQ", 0, 1) + _string(b"k") + struct.pack("<IIQ", 9, 9, 1),
            "array of type 9",
        ),
        (
            HEAD + struct.pack("<QQ", 0, 1) + _string(b"k") + struct.pack("<IIQ", 9, 8, 1 << 60),
            "strings",
        ),
        (
            HEAD
            + struct.pack("<QQ", 0, 1)
            + _string(b"k")
            + struct.pack("<IIQQ", 9, 8, 1, (1 << 64) - 1),
            "longer than the file",
        ),
        (
            HEAD + struct.pack("<QQ", 0, 1) + _string(b"k") + struct.pack("<IIQ", 9, 4, 1 << 60),
            "longer than the file",
        ),
        (
            HEAD + struct.pack("<QQ", 0, 2) + (_string(b"k") + struct.pack("<II", 4, 1)) * 2,
            "twice",
        ),
        (
            HEAD
            + struct.pack("<QQ", 0, 1)
            + _string(b"general.alignment")
            + struct.pack("<II", 4, 0),
            "alignment",
        ),
        (HEAD + struct.pack("<QQ", 1, 0) + _string(b"t") + struct.pack("<I", 5), "5 dimensions"),
        (
            HEAD + struct.pack("<QQ", 1, 0) + _string(b"t") + struct.pack("<IQIQ", 1, 32, 31, 0),
            "unknown type 31",
        ),
        (
            HEAD + struct.pack("<QQ", 1, 0) + _string(b"t") + struct.pack("<IQIQ", 1, 33, 2, 0),
            "impossible",
        ),
        (
            HEAD + struct.pack("<QQ", 1, 0) + _string(b"t") + struct.pack("<IQIQ", 1, 32, 2, 5),
            "impossible",
        ),
        (
            HEAD
            + struct.pack("<QQ", 1, 0)
            + _string(b"t")
            + struct.pack("<IQQIQ", 2, 1 << 62, 1 << 62, 0, 0),
            "impossible",
        ),
        (
            HEAD
            + struct.pack("<QQ", 2, 0)
            + (_string(b"t") + struct.pack("<IQIQ", 1, 32, 0, 0)) * 2,
            "same name",
        ),
    ],
)
def test_hostile_headers_are_refused_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    """Each kind of damage has its own sentence."""
    assert said in _refused(tmp_path, content)


def test_a_missing_file_or_a_folder_is_one_line(tmp_path: Path) -> None:
    """What cannot be opened is an error of ours, not a traceback."""
    for path in (tmp_path / "absent.gguf", tmp_path):
        with pytest.raises(CorruptModel, match="cannot read"):
            read_header(path)


@settings(max_examples=300, deadline=2000)
@given(
    changes=st.lists(st.tuples(st.integers(0, 1600), st.integers(0, 255)), min_size=1, max_size=8),
    keep=st.integers(0, 60_000),
)
def test_random_damage_never_crashes(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], keep: int
) -> None:
    """A damaged header is either readable or refused; nothing else is raised."""
    folder = tmp_path_factory.getbasetemp()
    pristine = folder / "pristine.gguf"
    if not pristine.exists():
        small_gguf(pristine)
    content = bytearray(pristine.read_bytes())
    for place, value in changes:
        content[place] = value
    path = folder / "damaged.gguf"
    path.write_bytes(content[:keep])
    with suppress(CorruptModel):
        header = read_header(path)
        header.check_complete()
        _ = (header.layer_bytes, header.n_parameters, header.kv_bytes_per_token(0))


def _split(folder: Path) -> list[Path]:
    first, second = small_gguf(folder / "a.gguf"), small_gguf(folder / "b.gguf", n_layers=1)
    entry = _string(b"split.count") + struct.pack("<IH", 2, 2)
    paths = []
    for i, part in enumerate((first, second), 1):
        raw = part.read_bytes()
        n_entries = struct.unpack("<Q", raw[16:24])[0] + 1
        # The added entry is padded to the alignment of 32, so that the data stays in place.
        filler = _string(b"x") + struct.pack("<I", 8)
        room = -(len(entry) + len(filler) + 8) % 32
        filler += _string(b"y" * room)
        path = folder / f"m-{i:05d}-of-00002.gguf"
        path.write_bytes(raw[:16] + struct.pack("<Q", n_entries + 1) + entry + filler + raw[24:])
        paths.append(path)
    return paths


def test_the_parts_of_a_split_model_are_read_together(tmp_path: Path) -> None:
    """Tensors and bytes of all parts are added up."""
    paths = _split(tmp_path)
    whole = read_model(paths[0])
    assert split_parts(paths[0], read_header(paths[0])) == tuple(paths)
    assert len(whole.tensors) == 5 + 3
    assert whole.file_bytes == sum(path.stat().st_size for path in paths)


def test_a_missing_part_or_a_wrong_first_part_is_told(tmp_path: Path) -> None:
    """A split model without all its parts is refused."""
    paths = _split(tmp_path)
    with pytest.raises(CorruptModel, match="not the first"):
        read_model(paths[1])
    paths[1].unlink()
    with pytest.raises(CorruptModel, match="cannot read"):
        read_model(paths[0])
