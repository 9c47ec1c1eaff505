"""A loaded model on which the engine and the bare loop take turns, in the same memory.

Both sides begin at the same position of the same context, with the same ids before it, and
evaluate the same ids behind it. Their times are read from one clock, outside both.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chatcli.bench.measure import BenchError
from chatcli.bench.raw import RawLoop, RawOptions
from chatcli.core.cancel import Cancel
from chatcli.core.event import EngineEvent, Generated, Prefilled
from chatcli.core.message import user
from chatcli.core.ports import Exchange, Prompt
from chatcli.core.sampling import Sampling
from chatcli.engine.cells import Cells
from chatcli.engine.facade import LlamaEngine
from chatcli.settings import KvSettings, Settings

STORY = (
    "Tell me a very long story about a lighthouse keeper and the sea, in twenty chapters,"
    " with every detail that you can think of."
)
SEEDS = 40
"""Seeds tried until a reply is long enough: a small model may end its story at once."""

_PLACES = ("the harbour", "a northern island", "the old mill", "the upper valley", "our garden")
_THINGS = ("a lantern", "seven letters", "an unfinished map", "two copper coins", "the tide table")
_DEEDS = ("was found near", "came back from", "is missing at", "was painted in", "fell behind")


def prose(n_sentences: int) -> str:
    """Return plain sentences, always the same and no two alike."""
    return " ".join(
        f"On day {i} {_THINGS[i % 5]} {_DEEDS[i * 3 % 5]} {_PLACES[(i + i // 5) % 5]},"
        f" and the clerk wrote {i * 37 % 1009} into the book."
        for i in range(1, n_sentences + 1)
    )


@dataclass(frozen=True, slots=True)
class Scene:
    """A prompt and its ids, of which the first `depth` are in memory before the clock runs."""

    prompt: Prompt
    ids: tuple[int, ...]
    depth: int


class Rig:
    """A model opened as `chatcli chat` opens it."""

    def __init__(self, name: str, path: Path, settings: Settings) -> None:
        # Without stored state: what is measured is to be evaluated, each time.
        settings = replace(settings, kv=KvSettings(mode="off"))
        self.engine = LlamaEngine(name, path, settings, lambda _level, _text: None)
        self._settings = settings

    @property
    def cells(self) -> Cells:
        """The engine's own memory, in which the bare loop evaluates too."""
        return self.engine.opened.cells

    def close(self) -> None:
        """Free the model."""
        self.engine.close()

    def raw_options(self, n_prompt: int, n_decode: int) -> RawOptions:
        """Return what the bare process must do to hold the same context."""
        o = self.cells.options
        return RawOptions(
            n_ctx=self.cells.size,
            n_batch=self.cells.context.n_batch,
            threads=o.threads,
            kv_type=o.kv_type,
            flash_attention=o.flash_attention,
            gpu_layers=self.engine.opened.gpu_layers,
            n_prompt=n_prompt,
            n_decode=n_decode,
        )

    # -- scenes ----------------------------------------------------------------------

    def text_of(self, n_tokens: int) -> str:
        """Return prose of at least `n_tokens` tokens, and hardly more."""
        per_sentence = len(self.engine.tokenize(prose(20))) / 20
        n = max(1, int(n_tokens / per_sentence))
        while len(self.engine.tokenize(prose(n))) < n_tokens:
            n += 1
        return prose(n)

    def prefill_scene(self, depth: int, n_tokens: int) -> Scene:
        """Return a question of `n_tokens` tokens behind a turn of `depth` tokens, if any."""
        prompt = Prompt(asked=(user(self.text_of(n_tokens)),), max_tokens=1)
        if not depth:
            self.cells.reset()
            self._last(prompt)
            return Scene(prompt, tuple(self.cells.ids), 0)
        first = Prompt(asked=(user(self.text_of(depth)),), max_tokens=1)
        generated = self._last(first)
        past = Exchange(first.asked, generated.reply, generated.record)
        prompt = replace(prompt, history=(past,))
        generated = self._last(prompt)
        return Scene(prompt, tuple(self.cells.ids), generated.usage.reused_memory)

    def decode_scene(self, depth: int, n_tokens: int) -> tuple[Scene, tuple[int, ...]]:
        """Return a prompt of some `depth` tokens, and the reply of `n_tokens` + 1 to it.

        Raises:
            BenchError: with no seed is the reply long enough.
        """
        text = f"{self.text_of(depth)}\n\n{STORY}" if depth else STORY
        prompt = Prompt(asked=(user(text),), max_tokens=1)
        ids = self._last(prompt).record.prompt
        for seed in range(1, SEEDS + 1):
            prompt = replace(prompt, sampling=Sampling(seed=seed), max_tokens=n_tokens + 1)
            # As it will be timed: in another batch the last id has other logits in their last
            # bits, and the same seed says something else.
            self.stand_at(ids, len(ids) - 1)
            generated = self._last(prompt)
            if generated.usage.completion > n_tokens and generated.finish == "length":
                return Scene(prompt, ids, len(ids) - 1), tuple(self.cells.ids[len(ids) :])
        raise BenchError(f"{self.engine.model} does not go on for {n_tokens} tokens")

    def _last(self, prompt: Prompt) -> Generated:
        return _generated(self.engine.generate(prompt, Cancel()))

    def stand_at(self, ids: Sequence[int], depth: int) -> None:
        """Have exactly the first `depth` of `ids` in memory."""
        cells = self.cells
        cells.make_room(len(ids) + 1)
        if not depth:
            cells.reset()
            return
        cells.take([*ids[:depth], -1])  # the last of what is taken is never kept
        for begin in range(len(cells.ids), depth, cells.context.n_batch):
            end = min(depth, begin + cells.context.n_batch)
            cells.extend(ids[begin:end], logits=False)

    # -- what is timed ---------------------------------------------------------------

    def engine_prefill_s(self, scene: Scene) -> float:
        """Ask and wait for the first token: the seconds that the whole path takes."""
        self.stand_at(scene.ids, scene.depth)
        prompt = replace(scene.prompt)  # a new object: it is rendered and tokenised again
        began = time.perf_counter()
        generated = self._last(prompt)
        taken = time.perf_counter() - began
        _expect(generated.usage.evaluated, len(scene.ids) - scene.depth)
        return taken

    def raw_prefill_s(self, scene: Scene) -> float:
        """Evaluate what the engine evaluates for the same prompt."""
        self.stand_at(scene.ids, scene.depth)
        rest = scene.ids[scene.depth :]
        return self._raw(lambda loop: loop.prefill_s(rest, scene.depth), rest)

    def engine_decode_s(self, scene: Scene, said: Sequence[int]) -> float:
        """Let the engine say the reply; return the seconds from the evaluated prompt to its end.

        That is ``len(said)`` evaluations, and a draw before each of them and after the last.
        """
        self.stand_at(scene.ids, scene.depth)
        began = 0.0
        for event in self.engine.generate(replace(scene.prompt), Cancel()):
            if isinstance(event, Prefilled):
                began = time.perf_counter()
            elif isinstance(event, Generated):
                taken = time.perf_counter() - began
                _expect(event.usage.completion, len(said) + 1)
        return taken

    def raw_decode_s(self, scene: Scene, said: Sequence[int]) -> float:
        """Evaluate the reply's ids one by one, behind the same prompt."""
        self.stand_at(scene.ids, scene.depth)
        rest = scene.ids[scene.depth :]
        self._raw(lambda loop: loop.prefill_s(rest, scene.depth), rest)
        return self._raw(lambda loop: loop.decode_s(said, len(scene.ids)), said)

    def raw_again_s(self, start: int, end: int) -> float:
        """Evaluate what is in memory from `start` to `end` once more, then what is behind it."""
        ids = tuple(self.cells.ids)
        self.stand_at(ids, start)
        new, rest = ids[start:end], ids[end:]
        taken = self._raw(lambda loop: loop.prefill_s(new, start), new)
        if rest:
            self._raw(lambda loop: loop.prefill_s(rest, end), rest)
        return taken

    def _raw(self, run: Callable[[RawLoop], float], ids: Sequence[int]) -> float:
        loop = RawLoop(self.cells.context)
        try:
            taken = run(loop)
        finally:
            loop.close()
        self.cells.ids += ids
        return taken


def _generated(events: Iterator[EngineEvent]) -> Generated:
    for event in events:
        if isinstance(event, Generated):
            return event
    raise BenchError("the engine ended without a result")


def _expect(found: int, wanted: int) -> None:
    """Refuse a time that was taken of something else than it says."""
    if found != wanted:
        raise BenchError(f"{found} tokens were evaluated or said where {wanted} were expected")
