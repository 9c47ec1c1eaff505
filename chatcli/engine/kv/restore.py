"""From stored blocks back into memory cells, checked before and after."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from chatcli.core.errors import LoadError
from chatcli.engine.cells import Cells
from chatcli.engine.kv.block import BadBlock
from chatcli.engine.kv.index import Row
from chatcli.engine.kv.match import Match
from chatcli.engine.kv.store import Store


@dataclass(slots=True)
class Restored:
    """What came of it: bytes read, and what was wrong with a block, if one was damaged."""

    n_bytes: int = 0
    damaged: str = ""


def restore(store: Store, cells: Cells, found: Match) -> Restored:
    """Put the blocks of `found` behind what is in `cells`, as far as they are good.

    The first block starts where the cells end. Afterwards `cells.ids` says how far it came:
    all that is there is sound.
    """
    done = Restored()
    reading = _read(store, found.rows)
    try:
        for row, data in reading:
            if not _put(cells, row, data, found.end):
                store.drop([row])
                done.damaged = "llama.cpp refused it"
                break
            done.n_bytes += row.bytes
    except BadBlock as error:
        done.damaged = str(error)
    except OSError:
        pass  # evicted meanwhile: a miss
    finally:
        reading.close()
    return done


def _read(store: Store, rows: tuple[Row, ...]) -> Generator[tuple[Row, memoryview], None, None]:
    """Yield the payloads; the next is read and hashed while the present one is put in."""
    if not rows:
        return
    largest = max(row.bytes for row in rows)
    buffers = [bytearray(largest) for _ in rows[:2]]
    with ThreadPoolExecutor(1, thread_name_prefix="kv-reader") as pool:
        ahead = pool.submit(store.read, rows[0], buffers[0])
        for number, row in enumerate(rows, 1):
            _, data = ahead.result()
            if number < len(rows):
                ahead = pool.submit(store.read, rows[number], buffers[number % 2])
            yield row, data


def _put(cells: Cells, row: Row, data: memoryview, end: int) -> bool:
    """Put one block behind the others, and forget what of it lies beyond `end`."""
    block = row.block
    if block.start != len(cells.ids):
        return False
    try:
        cells.make_room(block.end)
    except LoadError:
        return True  # no room for a block of which only a part was wanted
    if not cells.copy_in(block.tokens, data):
        cells.keep(block.start)
        return False
    cells.keep(min(end, block.end))
    return True
