"""The recurrent state of a hybrid model, kept at the end of each turn.

The attention's cells are kept in blocks like those of any model. The recurrent layers have
one state for all tokens so far, which cannot be cut: a chat goes on where one was kept.
"""

from chatcli.engine.cells import Cells
from chatcli.engine.kv.block import NO_TAIL, BadBlock, Block
from chatcli.engine.kv.index import Row
from chatcli.engine.kv.match import Match
from chatcli.engine.kv.store import Store


def resumable(store: Store, found: Match, n_memory: int) -> tuple[Match, Row | None]:
    """Shorten a match to the last block's end that a recurrent state is kept for.

    Only further ones than what is in memory are of use; with none, that is the match.
    """
    for n in range(len(found.rows), 0, -1):
        block = found.rows[n - 1].block
        if n_memory < block.end <= found.end and (row := store.checkpoint(block.tail)):
            return Match(found.rows[:n], block.end), row
    rows = tuple(row for row in found.rows if row.block.end <= n_memory)
    return Match(rows, min(found.end, n_memory)), None


def put_back(store: Store, cells: Cells, row: Row) -> str:
    """Put the recurrent state behind the cells; return what was wrong with it, "" if nothing.

    Where it is not good the cells are of no use, and nothing is left in memory.
    """
    wrong = "its end is missing"
    if len(cells.ids) == row.block.start:
        try:
            _, data = store.read(row, bytearray())
            if cells.context.set_recurrent(data, row.block.start):
                return ""
            wrong = "llama.cpp refused it"
            store.drop([row])
        except BadBlock as error:
            wrong = str(error)
        except OSError:
            wrong = ""  # evicted meanwhile: a miss
    cells.reset()
    return wrong


def keep(store: Store, cells: Cells, last: Block) -> Row | None:
    """Hand the recurrent state behind the block `last` to the writer.

    None where the cells have gone beyond it.
    """
    if last.end != len(cells.ids):
        return None
    block = Block(last.namespace, last.tail, NO_TAIL, last.end, (), "checkpoint")
    if store.has(block.id):
        return Row(block, block.id, 0)
    data = cells.context.recurrent()
    return Row(block, block.id, store.put(block, data)) if data is not None else None
