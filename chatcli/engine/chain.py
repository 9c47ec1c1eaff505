"""llama.cpp's samplers and grammars: who owns them, and how they are asked."""

import ctypes
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from chatcli.core.errors import ConstraintError
from chatcli.engine.binding import Model, library
from chatcli.engine.context import Context

if TYPE_CHECKING:
    from numpy import float32, int32
    from numpy.typing import NDArray


class SamplerChain:
    """A chain of llama.cpp samplers; freed by `close`."""

    def __init__(self, model: Model) -> None:
        lib = self._lib = library()
        self._model = model
        params = lib.llama_sampler_chain_default_params()
        params.no_perf = True
        self.handle = lib.llama_sampler_chain_init(params)

    def add(self, name: str, *numbers: float) -> None:
        """Add the sampler that `llama_sampler_init_<name>` makes of `numbers`."""
        self._append(getattr(self._lib, f"llama_sampler_init_{name}")(*numbers))

    def _append(self, sampler: Any) -> None:
        self._lib.llama_sampler_chain_add(self.handle, sampler)

    def add_penalties(self, last_n: int, repeat: float, frequency: float, presence: float) -> None:
        """Add the repetition penalties over the last `last_n` ids."""
        n_vocab = self._model.n_vocab
        self.add("penalties", n_vocab, last_n, repeat, frequency, presence)

    def add_dry(self, multiplier: float, base: float, allowed_length: int, last_n: int) -> None:
        """Add DRY with llama.cpp's default sequence breakers."""
        breakers = (ctypes.c_char_p * 4)(b"\n", b":", b'"', b"*")
        vocab = self._model.vocab
        init = self._lib.llama_sampler_init_dry
        self._append(init(vocab, multiplier, base, allowed_length, last_n, breakers, 4))

    def add_logit_bias(self, bias: Sequence[tuple[int, float]]) -> None:
        """Add a number to the logits of some ids."""
        lib = self._lib
        entries = (lib.llama_logit_bias * len(bias))(*bias)
        self._append(lib.llama_sampler_init_logit_bias(self._model.n_vocab, len(bias), entries))

    def sample(self, context: Context) -> int:
        """Draw the next id from the last logits, and tell the chain about it."""
        return int(self._lib.llama_sampler_sample(self.handle, context.handle, -1))

    def choose(self, candidates: "Candidates") -> int:
        """Draw an id from `candidates`, which are consumed; the chain is not told."""
        self._lib.llama_sampler_apply(self.handle, ctypes.byref(candidates.array))
        return int(candidates.array.data[candidates.array.selected].id)

    def accept(self, *ids: int) -> None:
        """Tell the chain what was said (penalties look back)."""
        for token in ids:
            self._lib.llama_sampler_accept(self.handle, token)

    def close(self) -> None:
        """Free the chain and its samplers."""
        if self.handle:
            self._lib.llama_sampler_free(self.handle)
            self.handle = None


class Candidates:
    """The (id, logit, probability) rows that samplers work on and reorder."""

    def __init__(self, ids: "NDArray[int32]", logits: "NDArray[float32]") -> None:
        import numpy as np

        lib = library()
        self.rows = np.zeros(len(ids), dtype=[("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])
        self.rows["id"] = ids
        self.rows["logit"] = logits
        data = (lib.llama_token_data * len(ids)).from_buffer(self.rows)
        self.array = lib.llama_token_data_array(data, len(ids), -1, False)


@contextmanager
def _stderr() -> Iterator[list[str]]:
    """Catch what the library writes to the process's stderr (its grammar parser does)."""
    said: list[str] = []
    saved = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            said.append(file.read().decode(errors="replace"))


class Grammar:
    """A GBNF grammar being followed; freed by `close`."""

    def __init__(self, model: Model, text: str, root: str = "root") -> None:
        """Parse `text`.

        Raises:
            ConstraintError: it is not a valid grammar.
        """
        lib = self._lib = library()
        with _stderr() as said:
            rules = text.encode("utf-8", "replace")
            self.handle = lib.llama_sampler_init_grammar(model.vocab, rules, root.encode())
        if not self.handle or not text.strip():
            reason = "".join(said).strip().partition("\n")[0].removeprefix("parse: ")
            raise ConstraintError(
                f"the grammar cannot be used: {reason or 'no rule called root'}",
                "It must be GBNF with a rule called root",
            )

    def restrict(self, candidates: Candidates) -> None:
        """Set the logits of ids that the grammar forbids now to minus infinity."""
        self._lib.llama_sampler_apply(self.handle, ctypes.byref(candidates.array))

    def allows(self, token: int) -> bool:
        """Whether `token` may come next."""
        import numpy as np

        one = Candidates(np.array([token], np.int32), np.zeros(1, np.float32))
        self.restrict(one)
        return bool(one.rows["logit"][0] == 0.0)

    def accept(self, token: int) -> None:
        """Go on behind `token`."""
        self._lib.llama_sampler_accept(self.handle, token)

    def close(self) -> None:
        """Free the grammar."""
        if self.handle:
            self._lib.llama_sampler_free(self.handle)
            self.handle = None
