"""The store keeps what it can, drops what it must, and never gives back anything else."""

import errno
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chatcli import paths
from chatcli.core.errors import StorageError
from chatcli.engine.kv import store as stores
from chatcli.engine.kv.block import BadBlock, encode
from chatcli.engine.kv.index import Row, Space, Tally
from chatcli.engine.kv.rebuild import Verified, verify
from chatcli.engine.kv.shelf import Files
from chatcli.engine.kv.store import Store, forget_sessions, open_disk, open_ram
from tests.engine.kv.made import NAMESPACE, SPACE, block, chain, payload, put, store


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/??/*.kv"))


def _read(kept: Store, row: Row) -> bytes:
    return bytes(kept.read(row, bytearray())[1])


@pytest.mark.parametrize("mode", ["disk", "ram"])
def test_what_was_put_is_read(tmp_path: Path, mode: str) -> None:
    """Both kinds of store give back the very bytes."""
    kept = store(tmp_path / "kv") if mode == "disk" else open_ram()
    blocks = chain([1, 2, 3, 4], 2, 4)
    put(kept, *blocks)
    found = kept.match(NAMESPACE, [1, 2, 3, 4, 5])
    assert found.end == 4
    assert [_read(kept, row) for row in found.rows] == [payload(one) for one in blocks]
    kept.drop(found.rows)
    assert kept.match(NAMESPACE, [1, 2, 3]).end == 0
    with pytest.raises(FileNotFoundError):
        kept.read(found.rows[0], bytearray())
    kept.close()


def test_the_folder_is_private_and_marked(tmp_path: Path) -> None:
    """Folders 0700, files 0600, and backups leave them out."""
    kept = store(tmp_path / "kv")
    put(kept, block([1, 2]))
    kept.close()
    (file,) = _files(tmp_path / "kv")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for folder in (file.parent, file.parent.parent, tmp_path / "kv"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    tag = (tmp_path / "kv" / "CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert list((tmp_path / "kv" / "tmp").iterdir()) == []


def test_closing_writes_what_is_queued(tmp_path: Path) -> None:
    """A program that ends right after its answer loses nothing."""
    kept = store(tmp_path)
    blocks = chain(list(range(50)), *range(1, 51))
    for one in blocks:
        kept.put(one, payload(one, 50_000))
    kept.close()
    assert len(_files(tmp_path)) == 50


def test_the_index_is_rebuilt_from_the_files(tmp_path: Path) -> None:
    """Deleted, or overwritten with noise: the next opening finds every block again."""
    put(kept := store(tmp_path), *chain([1, 2, 3, 4], 2, 4))
    kept.close()
    for noise in (b"", b"noise" * 5000):
        for path in tmp_path.glob("index.db*"):
            path.unlink()
        if noise:
            (tmp_path / "index.db").write_bytes(noise)
        kept = store(tmp_path)
        assert kept.match(NAMESPACE, [1, 2, 3, 4]).end == 4
        kept.close()
    (foreign := _files(tmp_path)[0]).write_bytes(b"not a block")
    (tmp_path / "index.db").unlink()
    kept = store(tmp_path)
    assert len(kept.index.ids()) == 1
    assert not foreign.exists()
    kept.close()


def test_an_index_that_breaks_while_it_is_open_is_rebuilt(tmp_path: Path) -> None:
    """One look-up is a miss; the next ones are right."""
    put(kept := store(tmp_path), *chain(list(range(200)), *range(1, 201)))
    kept.close()
    kept = store(tmp_path)
    size = (tmp_path / "index.db").stat().st_size
    assert size > 10 * 8192
    with (tmp_path / "index.db").open("r+b") as file:
        file.seek(3 * 8192)  # behind the schema: opening it again would find nothing wrong
        file.write(os.urandom(size - 3 * 8192))
    with pytest.raises(sqlite3.DatabaseError):
        kept.index.rows()
    kept.match(NAMESPACE, list(range(201)))
    assert kept.match(NAMESPACE, list(range(201))).end == 200
    kept.close()


def test_every_damage_is_a_miss(tmp_path: Path) -> None:
    """Flipped, cut off, longer, another block's, another model's: dropped, never given out."""
    one, two = chain([1, 2, 3, 4], 2, 4)
    foreign = block([1, 2], namespace=b"f" * 32)
    whole = encode(one, payload(one)) + payload(one)
    flips = [
        bytes([*whole[:at], whole[at] ^ 1, *whole[at + 1 :]]) for at in range(0, len(whole), 7)
    ]
    cuts = [whole[:n] for n in range(0, len(whole), 64)]
    others = [encode(other, b"x") + b"x" for other in (two, foreign)]
    kept = store(tmp_path)
    for damaged in [*flips, *cuts, whole + b"\0", *others]:
        put(kept, one)
        (path,) = _files(tmp_path)
        path.write_bytes(damaged)
        (row,) = kept.match(NAMESPACE, [1, 2]).rows
        with pytest.raises(BadBlock):
            kept.read(row, bytearray())
        assert _files(tmp_path) == []
        assert kept.match(NAMESPACE, [1, 2]).end == 0
    kept.close()


def test_a_block_that_vanished_is_a_miss(tmp_path: Path) -> None:
    """Another process evicted it: the index forgets it, too."""
    put(kept := store(tmp_path), block([1, 2]))
    (row,) = kept.match(NAMESPACE, [1, 2]).rows
    _files(tmp_path)[0].unlink()
    with pytest.raises(FileNotFoundError):
        kept.read(row, bytearray())
    assert kept.match(NAMESPACE, [1, 2]).end == 0
    kept.close()


def test_the_budget_holds_and_the_chain_in_use_stays(tmp_path: Path) -> None:
    """The least used leaves go first; a chain longer than the budget ends at the budget."""
    kept = store(tmp_path, budget_bytes=5_000)
    old, used = chain([1, 2, 3], 1, 2, 3), chain([7, 8, 9], 1, 2, 3)
    put(kept, *old, n_bytes=600)
    put(kept, *used, n_bytes=600)
    kept.pin(one.id for one in old)
    put(kept, block([5]), n_bytes=600)
    assert kept.match(NAMESPACE, [1, 2, 3]).end == 3
    assert kept.match(NAMESPACE, [7, 8, 9]).end == 2
    assert sum(path.stat().st_size for path in _files(tmp_path)) <= 5_000
    long = list(range(20, 40))
    kept.pin(one.id for one in chain(long, *range(1, 21)))
    put(kept, *chain(long, *range(1, 21)), n_bytes=600)
    end = kept.match(NAMESPACE, long).end
    assert 0 < end < 20
    # Nothing that nothing leads to was written.
    assert len([row for row in kept.index.rows() if row.block.tokens[0] >= 20]) == end
    put(kept, block([6]), n_bytes=6_000)
    assert kept.match(NAMESPACE, [6]).end == 0
    kept.close()


def test_dead_namespaces_go_first(tmp_path: Path) -> None:
    """Blocks of another library version, or of a model that is gone, are of no use."""
    kept = store(tmp_path, budget_bytes=4_000)
    kept.library = "new"
    live = block([1])
    put(kept, live, n_bytes=900)
    kept.note("s", [], Tally(), Space(namespace=NAMESPACE, library="new", path="/"))
    for name, space in (
        (b"o", Space(namespace=b"o" * 32, library="old", path="/")),
        (b"g", Space(namespace=b"g" * 32, library="new", path="/no/such/file")),
    ):
        dead = block([1], namespace=name * 32)
        kept.put(dead, payload(dead, 900))
        kept.note("s", [dead.id], Tally(), space)
    kept.flush()
    assert set(kept.dead()) == {b"o" * 32, b"g" * 32}
    kept.evict(1)
    kept.evict(1)
    assert [row.block.namespace for row in kept.index.rows()] == [NAMESPACE]
    kept.close()


def test_the_default_budget_is_a_tenth_of_the_free_disk(tmp_path: Path) -> None:
    """And never more than 10 GB."""
    import shutil

    kept = open_disk(tmp_path)
    free = shutil.disk_usage(tmp_path).free
    assert kept.budget_bytes == pytest.approx(min(10e9, free / 10), rel=0.05)
    kept.close()


_FULL = """
import resource, sys
from pathlib import Path
from tests.engine.kv.made import block, chain, put, store
kept = store(Path(sys.argv[1]))
put(kept, *chain([1, 2], 1, 2), n_bytes=1000)
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
put(kept, block([3]), n_bytes=3_000_000)
put(kept, block([3, 4], 1), block([5]), n_bytes=1000)
kept.close()
"""


def test_a_full_disk_means_fewer_blocks(tmp_path: Path) -> None:
    """What does not fit is dropped, with what would follow it; the rest is kept."""
    subprocess.run([sys.executable, "-c", _FULL, str(tmp_path)], check=True)
    kept = store(tmp_path)
    assert kept.match(NAMESPACE, [5]).end == 1
    assert kept.match(NAMESPACE, [3, 4]).end == 0
    assert kept.match(NAMESPACE, [1, 2]).end == 2
    assert list((tmp_path / "tmp").iterdir()) == []
    assert verify(kept.index, Files(tmp_path)).damaged == 0
    kept.close()


def test_a_disk_without_room_evicts_and_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENOSPC makes room for what is new."""
    kept = store(tmp_path)
    put(kept, *(block([n]) for n in range(10, 20)))
    write = Files.write
    errors = iter([errno.ENOSPC])

    def full_once(self: Files, *args: object) -> int:
        for number in errors:
            raise OSError(number, "no space")
        return write(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Files, "write", full_once)
    put(kept, block([3]))
    assert kept.match(NAMESPACE, [3]).end == 1
    assert len(_files(tmp_path)) == 9
    kept.close()


_SAVE = """
import os, sys
from pathlib import Path
from tests.engine.kv.made import chain, put, store
kept = store(Path(sys.argv[1]))
seed = int(sys.argv[2])
print("ready", flush=True)
for turn in range(10_000):
    ids = [seed, turn, *range(20)]
    put(kept, *chain(ids, *range(2, 23, 4)), n_bytes=20_000)
"""


def _child(script: str, *args: object) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", script, *map(str, args)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


def test_kill_nine_in_any_phase_leaves_only_whole_blocks(tmp_path: Path) -> None:
    """Killed while it writes, again and again, by itself and beside others: nothing is torn."""
    for attempt in range(4):
        children = [_child(_SAVE, tmp_path, 2 * attempt + n) for n in range(2)]
        time.sleep(0.05 + 0.037 * attempt)
        for child in children:
            child.send_signal(signal.SIGKILL)
            child.communicate()
    kept = store(tmp_path)
    found = verify(kept.index, Files(tmp_path))
    assert found.damaged == found.missing == 0
    assert found.blocks > 0
    for row in kept.index.rows():
        kept.read(row, bytearray())
    kept.close()


_SHARE = """
import sys, random
from pathlib import Path
from chatcli.engine.kv.block import BadBlock
from tests.engine.kv.made import NAMESPACE, chain, payload, put, store
kept = store(Path(sys.argv[1]), budget_bytes=400_000)
rng = random.Random(int(sys.argv[2]))
print("ready", flush=True)
for turn in range(60):
    ids = [rng.randrange(4) for _ in range(12)]
    blocks = chain(ids, 3, 6, 9, 12)
    put(kept, *blocks, session=sys.argv[2], n_bytes=5_000)
    for row in kept.match(NAMESPACE, ids).rows:
        try:
            data = bytes(kept.read(row, bytearray())[1])
        except FileNotFoundError:
            continue
        assert data == payload(row.block, 5_000)
kept.close()
"""


def test_processes_share_one_store(tmp_path: Path) -> None:
    """Writing, reading and evicting at once, none reads anything but what was written."""
    children = [_child(_SHARE, tmp_path, n) for n in range(4)]
    for child in children:
        assert child.wait(60) == 0
        child.communicate()
    kept = store(tmp_path)
    found = verify(kept.index, Files(tmp_path))
    assert (found.damaged, found.unknown) == (0, 0)
    assert found.n_bytes <= 450_000
    kept.close()


def test_a_look_at_every_file_sets_the_index_right(tmp_path: Path) -> None:
    """Damaged files go, unknown ones are indexed, rows without a file are forgotten."""
    kept = store(tmp_path)
    put(kept, block([1]), block([2]), block([3]), block([4]))
    one, two, three, _ = _files(tmp_path)
    one.write_bytes(one.read_bytes()[:-1])
    two.unlink()
    kept.index.remove([bytes.fromhex(three.stem)])
    n_bytes = three.stat().st_size
    expected = Verified(blocks=2, n_bytes=2 * n_bytes, damaged=1, unknown=1, missing=2)
    assert verify(kept.index, Files(tmp_path)) == expected
    assert len(kept.index.ids()) == 2
    kept.close()


def test_old_temporary_files_are_swept(tmp_path: Path) -> None:
    """What a killed process left is deleted after an hour; what is being written stays."""
    files = Files(tmp_path / "kv")
    files.prepare()
    old, new = (tmp_path / "kv" / "tmp" / name for name in ("1.0", "1.1"))
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (0, 0))
    files.sweep()
    assert [path.exists() for path in (old, new)] == [False, True]
    files.sweep(everything=True)
    assert not new.exists()


def test_a_forgotten_session_takes_its_blocks_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that another session needs stay; without a store nothing is made."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert forget_sessions(["a"]) == 0
    assert not stores.kv_dir().exists()
    shared, own = block([1]), block([1, 2], 1)
    put(kept := open_disk(), shared, own, session="a")
    put(kept, shared, session="b")
    kept.close()
    assert forget_sessions(["a"]) == 1
    assert len(_files(paths.cache_dir() / "kv")) == 1
    assert forget_sessions(["b"]) == 1
    assert _files(paths.cache_dir() / "kv") == []


def test_a_folder_that_cannot_be_used_is_one_error(tmp_path: Path) -> None:
    """The engine says it in one line, and goes on without."""
    (tmp_path / "kv").write_bytes(b"a file")
    with pytest.raises(StorageError):
        open_disk(tmp_path / "kv")
    (tmp_path / "ok" / "index.db").mkdir(parents=True)
    with pytest.raises(StorageError, match="cannot use"):
        open_disk(tmp_path / "ok")
    assert SPACE.library == "lib"
