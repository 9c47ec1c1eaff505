"""A llama.cpp context: memory cells, evaluation, state in and out."""

import ctypes
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from chatcli.core.errors import LoadError
from chatcli.engine.binding import Model, library

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

ABORTED = 2
"""`llama_decode`: stopped by the abort callback; whole micro-batches stay in memory."""

_CHAT, _SPARE = 0, 1
"""Sequences: the chat, and one that shares cells with it while they are copied out or in."""

_RECURRENT_ONLY = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY

_KV_TYPES = {"f16": 1, "q8_0": 8}  # enum ggml_type
_FLASH = {"auto": -1, "off": 0, "on": 1}  # enum llama_flash_attn_type


class Context:
    """Memory cells for `n_ctx` tokens and the buffers to evaluate them; freed by `close`."""

    def __init__(
        self,
        model: Model,
        n_ctx: int,
        *,
        n_batch: int = 512,
        threads: int = 1,
        kv_type: str = "f16",
        flash_attention: str = "auto",
        n_seq_max: int = 1,
    ) -> None:
        """Allocate the context.

        Raises:
            LoadError: there is not enough memory, or the options do not go together.
        """
        lib = self._lib = library()
        params = lib.llama_context_default_params()
        params.n_ctx = n_ctx
        params.n_batch = params.n_ubatch = n_batch
        params.n_seq_max = n_seq_max
        params.n_threads = params.n_threads_batch = threads
        params.type_k = params.type_v = _KV_TYPES[kv_type]
        params.flash_attn_type = _FLASH[flash_attention]
        params.kv_unified = True
        params.swa_full = False
        params.no_perf = True
        self.handle = lib.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise LoadError(f"llama.cpp could not make a context of {n_ctx:,} tokens")
        self.n_ctx: int = lib.llama_n_ctx(self.handle)
        self.n_batch: int = lib.llama_n_batch(self.handle)
        self.memory = lib.llama_get_memory(self.handle)
        self._abort: Any = None
        hybrid = model.hybrid and n_seq_max > 1
        self._no_tail = self._state(_SPARE, _RECURRENT_ONLY) if hybrid else None
        self._batch = lib.llama_batch_init(self.n_batch, 0, 1)
        for i in range(self.n_batch):
            self._batch.n_seq_id[i] = 1
            self._batch.seq_id[i][0] = 0
            self._batch.logits[i] = 0

    def close(self) -> None:
        """Free the context."""
        if self.handle:
            self._lib.llama_batch_free(self._batch)
            self._lib.llama_free(self.handle)
            self.handle = None

    def evaluate(self, ids: Sequence[int], start: int, *, logits: bool = True) -> int:
        """Evaluate at most `n_batch` ids at positions `start`...; return llama_decode's code.

        With `logits`, those of the last id can be read and sampled from afterwards.
        """
        n = len(ids)
        batch = self._batch
        block = array("i", ids)
        ctypes.memmove(batch.token, block.buffer_info()[0], n * 4)
        block = array("i", range(start, start + n))
        ctypes.memmove(batch.pos, block.buffer_info()[0], n * 4)
        batch.n_tokens = n
        batch.logits[n - 1] = logits
        code: int = self._lib.llama_decode(self.handle, batch)
        batch.logits[n - 1] = 0
        return code

    def step(self, token: int, position: int) -> int:
        """Evaluate one id, with logits: the inner loop."""
        batch = self._batch
        batch.token[0] = token
        batch.pos[0] = position
        batch.logits[0] = 1
        batch.n_tokens = 1
        code: int = self._lib.llama_decode(self.handle, batch)
        batch.logits[0] = 0
        return code

    def logits(self, n_vocab: int) -> "NDArray[float32]":
        """Return the (n_vocab,) logits of the last evaluated id: llama.cpp's own memory."""
        import numpy as np

        pointer = self._lib.llama_get_logits_ith(self.handle, -1)
        return np.ctypeslib.as_array(pointer, shape=(n_vocab,))

    def abort_when(self, wanted: Callable[[], bool] | None) -> None:
        """Ask `wanted` between graph nodes (CPU) whether to stop evaluating; None: never.

        Called from the thread that evaluates, so in the main thread Python also gets to run
        its signal handlers there: Ctrl-C answers during a long prefill.
        """
        lib = self._lib
        previous = self._abort
        if wanted is None:
            self._abort = lib.ggml_abort_callback()
        else:
            self._abort = lib.ggml_abort_callback(lambda _: wanted())
        lib.llama_set_abort_callback(self.handle, self._abort, None)
        del previous  # only now: the library held it until this line

    def cut(self, length: int) -> bool:
        """Forget positions >= `length`; False where the memory type cannot."""
        return bool(self._lib.llama_memory_seq_rm(self.memory, 0, length, -1))

    def clear(self) -> None:
        """Forget everything."""
        self._lib.llama_memory_clear(self.memory, False)

    @property
    def length(self) -> int:
        """How many positions are in memory, counted from 0."""
        return int(self._lib.llama_memory_seq_pos_max(self.memory, 0)) + 1

    @property
    def first(self) -> int:
        """The lowest position that is still in memory (> 0 behind a sliding window)."""
        return int(self._lib.llama_memory_seq_pos_min(self.memory, 0))

    def save(self) -> bytearray:
        """Return the state of all positions, as llama.cpp lays it out."""
        return self._state(_CHAT, 0) or bytearray()

    def _state(self, sequence: int, flags: int) -> bytearray | None:
        """Return the state of a sequence; None if llama.cpp could not write it all."""
        lib = self._lib
        size = lib.llama_state_seq_get_size_ext(self.handle, sequence, flags)
        data = bytearray(size)
        buffer = (ctypes.c_uint8 * size).from_buffer(data)
        written = lib.llama_state_seq_get_data_ext(self.handle, buffer, size, sequence, flags)
        del buffer
        return data if written == size else None

    def _take_over(self, sequence: int, data: bytearray | memoryview, flags: int) -> bool:
        """Set the state of a sequence; False unless every byte was used."""
        size = len(data)
        buffer = (ctypes.c_uint8 * size).from_buffer(data)
        read = self._lib.llama_state_seq_set_data_ext(self.handle, buffer, size, sequence, flags)
        return bool(read == size)

    def copy_out(self, start: int, end: int) -> bytearray | None:
        """Return the state of positions `start`...`end` - 1; None if not all are in memory.

        Needs a second sequence (`n_seq_max`), which borrows the cells meanwhile. Of a hybrid
        model this is the attention's part: the recurrent state, which came along with the
        cells, is taken off the spare sequence again.
        """
        lib = self._lib
        lib.llama_memory_seq_cp(self.memory, _CHAT, _SPARE, start, end)
        try:
            if self._no_tail is not None:
                whole = self._take_over(_SPARE, self._no_tail, _RECURRENT_ONLY)
            else:
                whole = self._spare_holds(start, end)
            return self._state(_SPARE, 0) if whole else None
        finally:
            lib.llama_memory_seq_rm(self.memory, _SPARE, -1, -1)

    def copy_in(self, data: memoryview, start: int, end: int) -> bool:
        """Take over the state of positions `start`...`end` - 1 behind those in memory.

        False, and the chat as it was, unless every byte was used and gave just these
        positions. The caller has checked the bytes: llama.cpp does not. A hybrid model cannot
        go on before `set_recurrent`.
        """
        lib = self._lib
        hybrid = self._no_tail is not None
        try:
            if not self._take_over(_SPARE, data, 0):
                return False
            if not hybrid and not self._spare_holds(start, end):
                return False
            lib.llama_memory_seq_cp(self.memory, _SPARE, _CHAT, start, end)
        finally:
            lib.llama_memory_seq_rm(self.memory, _SPARE, -1, -1)
        return hybrid or self.length == end

    def recurrent(self) -> bytearray | None:
        """Return the recurrent state behind the last position, of a hybrid model."""
        return self._state(_CHAT, _RECURRENT_ONLY)

    def set_recurrent(self, data: memoryview, length: int) -> bool:
        """Take over the recurrent state behind `length` positions; False if it is not that."""
        taken = self._take_over(_CHAT, data, _RECURRENT_ONLY)
        return taken and self.first == length - 1 == self.length - 1

    def _spare_holds(self, start: int, end: int) -> bool:
        """Whether the spare sequence has exactly these positions.

        llama.cpp keeps the positions of a sequence contiguous: behind a sliding window it
        drops the lowest first, so the lowest and the highest tell of all between.
        """
        lib = self._lib
        first = lib.llama_memory_seq_pos_min(self.memory, _SPARE)
        last = lib.llama_memory_seq_pos_max(self.memory, _SPARE)
        return bool(first == start and last == end - 1)

    def restore(self, data: bytearray) -> bool:
        """Take over a saved state; False (and nothing in memory) if any byte is not right."""
        taken = self._take_over(_CHAT, data, 0)
        if not taken:
            self.clear()
        return taken
