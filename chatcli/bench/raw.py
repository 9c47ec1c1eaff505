"""The bare loops: `llama_decode` and nothing else. No sampling, no text, no events.

They are what the library itself can do on this machine; chatcli is measured against them.
Run as a module it is the process that the memory of chatcli is compared with::

    python -m chatcli.bench.raw MODEL OPTIONS   # OPTIONS: JSON, as `RawOptions`
"""

import ctypes
import json
import sys
import time
from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from chatcli.engine.binding import Model, library, set_log
from chatcli.engine.context import Context


class RawLoop:
    """Evaluates ids in a context, with a batch of its own; freed by `close`."""

    def __init__(self, context: Context) -> None:
        self._lib = library()
        self._context = context
        self._batch = self._lib.llama_batch_init(context.n_batch, 0, 1)
        for i in range(context.n_batch):
            self._batch.n_seq_id[i] = 1
            self._batch.seq_id[i][0] = 0
            self._batch.logits[i] = 0

    def close(self) -> None:
        """Free the batch."""
        self._lib.llama_batch_free(self._batch)

    def prefill_s(self, ids: Sequence[int], start: int) -> float:
        """Evaluate `ids` at positions `start`..., in whole batches; return the seconds."""
        lib, handle, batch = self._lib, self._context.handle, self._batch
        tokens, positions = array("i", ids), array("i", range(start, start + len(ids)))
        size = self._context.n_batch
        began = time.perf_counter()
        for at in range(0, len(ids), size):
            n = min(size, len(ids) - at)
            ctypes.memmove(batch.token, tokens.buffer_info()[0] + 4 * at, 4 * n)
            ctypes.memmove(batch.pos, positions.buffer_info()[0] + 4 * at, 4 * n)
            batch.n_tokens = n
            last = at + n == len(ids)
            batch.logits[n - 1] = last
            self._check(lib.llama_decode(handle, batch))
            batch.logits[n - 1] = 0
        lib.llama_synchronize(handle)
        return time.perf_counter() - began

    def decode_s(self, ids: Sequence[int], start: int) -> float:
        """Evaluate `ids` one by one, with logits; return the seconds."""
        lib, handle, batch = self._lib, self._context.handle, self._batch
        batch.n_tokens = 1
        batch.logits[0] = 1
        began = time.perf_counter()
        for position, token in enumerate(ids, start):
            batch.token[0] = token
            batch.pos[0] = position
            self._check(lib.llama_decode(handle, batch))
            lib.llama_synchronize(handle)  # as reading the logits would
        taken = time.perf_counter() - began
        batch.logits[0] = 0
        return taken

    @staticmethod
    def _check(code: int) -> None:
        if code != 0:
            raise RuntimeError(f"llama_decode failed with {code}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawOptions:
    """What the bare process does: how many tokens it evaluates in what context."""

    n_ctx: int
    n_batch: int
    threads: int
    kv_type: str
    flash_attention: str
    gpu_layers: int
    n_prompt: int
    n_decode: int

    def as_text(self) -> str:
        """Return the options as the argument of the module."""
        return json.dumps(asdict(self))


def run(path: Path, options: RawOptions) -> None:
    """Evaluate, say so on stdout with one byte, and wait until stdin ends."""
    set_log(lambda _level, _text: None)
    model = Model(path, gpu_layers=options.gpu_layers)
    context = Context(
        model,
        options.n_ctx,
        n_batch=options.n_batch,
        threads=options.threads,
        kv_type=options.kv_type,
        flash_attention=options.flash_attention,
    )
    loop = RawLoop(context)
    ids = [(7 * i + 11) % model.n_vocab for i in range(options.n_prompt)]
    loop.prefill_s(ids, 0)
    loop.decode_s(ids[: options.n_decode], options.n_prompt)
    sys.stdout.write(".")
    sys.stdout.flush()
    sys.stdin.read()
    loop.close()
    context.close()
    model.close()


if __name__ == "__main__":
    run(Path(sys.argv[1]), RawOptions(**json.loads(sys.argv[2])))
