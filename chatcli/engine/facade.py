"""`LlamaEngine`: a model that keeps the promise of `core.ports.Engine`.

Joins what its siblings know: the template makes token ids of a prompt, the cells say which
of them are already evaluated, prefill evaluates the rest, the stream says the reply.
One thread at a time uses an engine.
"""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chatcli.core.cancel import Cancel
from chatcli.core.errors import ContextOverflow, LoadError, NotAChatModel
from chatcli.core.event import EngineEvent, Generated, Notice, Prefilled, Restored
from chatcli.core.message import Message, Part, Reasoning, Text
from chatcli.core.ports import Measure, Prompt
from chatcli.core.session import Fingerprint
from chatcli.core.usage import Usage
from chatcli.engine.align import Plan, plan
from chatcli.engine.builtin import builtin_template
from chatcli.engine.constrain import Drawer, Vocabulary, make_drawer
from chatcli.engine.identify import fingerprint, weights
from chatcli.engine.kv.keep import Fetched, Keeper
from chatcli.engine.kv.opening import open_keeper
from chatcli.engine.load import Opened, open_model
from chatcli.engine.prefill import prefill
from chatcli.engine.sampler import make_chain
from chatcli.engine.stream import Limits, Progress, stream
from chatcli.engine.template import ChatTemplate, prepare
from chatcli.engine.text import Reply
from chatcli.settings import Settings

REPLY_TOKENS = 2048
"""Default limit of a reply: some 1,500 words, or a long source file."""
THOUGHT_TOKENS = 8192
"""Default limit where the model thinks before it answers."""
RESERVE_TOKENS = 256
"""Room that a prompt must leave for the reply."""
_STOPS = {"plain": ("\nUser:",), "vicuna": ("USER:",), "alpaca": ("### Instruction:",)}
"""Built-in templates without control tokens: what a model writes when it plays both sides."""
LOOK_BACK = 64
"""Ids of the prompt that penalties see, as in llama.cpp."""


class LlamaEngine:
    """A loaded GGUF model."""

    def __init__(
        self,
        model: str,
        path: Path,
        settings: Settings,
        log: Callable[[int, str], None],
        *,
        go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Load the model at `path`; `model` is its name for the user.

        Loading is given up when `go_on` says False.

        Raises:
            CorruptModel: the file is damaged.
            LoadError: llama.cpp refuses it, or memory is short.
            NotAChatModel: it cannot generate, or has no chat template and none was given.
        """
        self.model = model
        self._settings = settings
        # While llama.cpp reads the weights, Python has nothing to do: the GIL is free.
        threading.Thread(target=prepare, name="template").start()
        self._opened: Opened = open_model(path, settings.engine, settings.context, log, go_on)
        self._model, self._cells = self._opened.model, self._opened.cells
        self._notices = list(self._opened.notices)
        self._keeper: Keeper | None = None
        try:
            source = self._template_source(path)
            self.fingerprint: Fingerprint = fingerprint(path, source)
            self._keeper = self._open_keeper(path)
        except BaseException:
            self.close()
            raise
        native = self._model
        bos, eos = (
            native.piece(token).decode("utf-8", "replace") if token is not None else ""
            for token in (native.bos, native.eos)
        )
        self._template = ChatTemplate(source, bos=bos, eos=eos)
        self._vocabulary = Vocabulary(native)
        self._planned: tuple[Prompt, Plan] | None = None

    def _open_keeper(self, path: Path) -> Keeper | None:
        if not self._settings.sessions.log:
            return None
        keeper, notice = open_keeper(
            self._cells,
            self._settings.kv,
            path=path,
            weights=weights(path),
            on_gpu=self._opened.gpu_layers != 0,
        )
        self._notices += [notice] if notice else []
        return keeper

    def _template_source(self, path: Path) -> str:
        if not self._model.generates:
            raise NotAChatModel(f"{path.name} does not generate text", "Choose a chat model")
        chosen = self._settings.engine.template
        source = self._model.chat_template() if chosen is None else builtin_template(chosen)
        if source is None:
            raise NotAChatModel(
                f"{path.name} has no chat template",
                "Name one with --template, such as chatml, llama3, gemma, plain or a .jinja file",
            )
        return source

    @property
    def description(self) -> str:
        """Architecture, size and quantisation, as llama.cpp words it."""
        return self._model.description

    @property
    def context_limit(self) -> int:
        """The most tokens that a chat with this model may have."""
        return self._cells.options.limit

    @property
    def context_size(self) -> int:
        """Cells allocated now."""
        return self._cells.size

    @property
    def opened(self) -> Opened:
        """The model and its memory, for measurements beside the engine."""
        return self._opened

    @property
    def gpu_layers(self) -> int:
        """Layers on the GPU; -1: all."""
        return self._opened.gpu_layers

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of `text`, control tokens read as such."""
        return self._model.tokenize(text, special=True)

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token."""
        return self._model.piece(token)

    def close(self) -> None:
        """Free the model; what is to be kept of it is written first."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
        self._cells.close()
        self._model.close()

    def _plan(self, prompt: Prompt) -> Plan:
        """Render and tokenise `prompt`, once for `measure` and `generate` together."""
        if self._planned is None or self._planned[0] is not prompt:
            self._planned = (prompt, plan(self._template, self._model, prompt))
        return self._planned[1]

    def measure(self, prompt: Prompt) -> Measure:
        """Count the tokens of `prompt`; the limit leaves room for a reply."""
        planned = self._plan(prompt)
        limit = self.context_limit
        reserve = min(RESERVE_TOKENS, limit // 4)
        if prompt.max_tokens is not None:
            reserve = min(reserve, prompt.max_tokens)
        return Measure(len(planned.ids), limit - reserve)

    def generate(self, prompt: Prompt, cancel: Cancel) -> Iterator[EngineEvent]:
        """Yield the reply as `core.ports.Engine` promises.

        Raises:
            ContextOverflow: before anything is evaluated, if the prompt does not fit.
            ConstraintError: the schema or grammar cannot be used.
        """
        began = time.perf_counter()
        yield from (Notice(text) for text in self._notices)
        self._notices.clear()
        turn = self._begin(prompt, began)
        try:
            fetched = turn.fetched
            if fetched.notice:
                yield Notice(fetched.notice)
            if n_reused := fetched.memory + fetched.disk:
                yield Restored(fetched.memory, fetched.disk, fetched.n_bytes)
            started = time.perf_counter()
            for done, total in prefill(self._cells, turn.ids, cancel):
                yield Prefilled(done, total)
            turn.prefilled_at = time.perf_counter()
            turn.prefill_s = turn.prefilled_at - started
            turn.evaluated = len(self._cells.ids) - n_reused
            if self._keeper is not None:
                self._keeper.boundary()
            if cancel:
                turn.progress.finish = "cancelled"
            else:
                yield from stream(
                    self._cells, turn.drawer, turn.reply, turn.limits, cancel, turn.progress
                )
        finally:
            turn.drawer.close()
        yield self._finished(prompt, turn)

    def _begin(self, prompt: Prompt, began: float) -> "_Running":
        planned = self._plan(prompt)
        ids = list(planned.ids)
        measure = self.measure(prompt)
        if len(ids) > measure.limit:
            raise ContextOverflow(
                f"the input takes {len(ids):,} tokens, {measure.limit:,} fit",
                needed=len(ids),
                limit=measure.limit,
            )
        constraint = prompt.constraint
        limits = Limits(
            max_tokens=self._max_tokens(prompt, len(ids)),
            stop_loops=self._settings.reply.stop_loops,
            constrained=constraint is not None,
        )
        chain = make_chain(self._model, prompt.sampling)
        chain.accept(*ids[-LOOK_BACK:])
        drawer = make_drawer(chain, self._model, self._vocabulary, constraint)
        self._room_for(ids)
        fetched = self._fetch(prompt, ids)
        reply = self._reply(prompt, planned)
        return _Running(planned, ids, fetched, limits, drawer, reply, Progress(), began)

    def _fetch(self, prompt: Prompt, ids: list[int]) -> Fetched:
        n_memory = self._cells.take(ids)
        if self._keeper is None:
            return Fetched(n_memory)
        return self._keeper.fetch(prompt.session, ids, n_memory)

    def _keep(self, turn: "_Running") -> int:
        """Keep what was evaluated; return the bytes that will be written."""
        if self._keeper is None:
            return 0
        n_sound = len(turn.ids) + len(turn.progress.ids)
        return self._keeper.finish(n_sound, turn.evaluated, turn.prefill_s)

    def _reply(self, prompt: Prompt, planned: Plan) -> Reply:
        stops = (*prompt.stop, *_STOPS.get(self._settings.engine.template or "", ()))
        if prompt.constraint is not None:
            return Reply((), prompt.stop)
        return Reply(planned.markers, stops, starts_in_thought=planned.starts_in_thought)

    def _room_for(self, ids: list[int]) -> None:
        try:
            self._cells.make_room(len(ids) + 1)
        except LoadError as error:
            raise ContextOverflow(
                f"there is not enough memory for a context of {len(ids):,} tokens",
                "Shorten the input, choose a smaller model, or engine.kv_type: q8_0",
                needed=len(ids),
                limit=self._cells.size,
            ) from error

    def _max_tokens(self, prompt: Prompt, n_prompt: int) -> int:
        room = self.context_limit - n_prompt
        asked = prompt.max_tokens or self._settings.reply.max_tokens
        default = (
            THOUGHT_TOKENS if self._template.markers and not prompt.constraint else REPLY_TOKENS
        )
        return max(1, min(room, asked or default))

    def _finished(self, prompt: Prompt, turn: "_Running") -> Generated:
        now = time.perf_counter()
        progress, reply = turn.progress, turn.reply
        first = progress.first_token_at or now
        usage = Usage(
            reused_memory=turn.fetched.memory,
            reused_disk=turn.fetched.disk,
            evaluated=turn.evaluated,
            completion=progress.drawn,
            prefill_s=turn.prefilled_at - turn.began,
            decode_s=now - first if progress.drawn else 0.0,
            ttft_s=first - turn.began,
            read_bytes=turn.fetched.n_bytes,
            written_bytes=self._keep(turn),
            context=self.context_limit,
        )
        record = turn.plan.record(progress.ids, reply.thought)
        old = prompt.resume.reply if prompt.resume is not None else Message("assistant", ())
        message = _message(old.reasoning + reply.reasoning, old.text + reply.text)
        return Generated(message, self.fingerprint, record, usage, progress.finish)


@dataclass(slots=True)
class _Running:
    """One generation under way."""

    plan: Plan
    ids: list[int]
    fetched: Fetched
    limits: Limits
    drawer: Drawer
    reply: Reply
    progress: Progress
    began: float
    prefilled_at: float = 0.0
    prefill_s: float = 0.0
    evaluated: int = 0


def _message(reasoning: str, text: str) -> Message:
    parts: list[Part] = []
    if reasoning:
        parts.append(Reasoning(reasoning))
    if text:
        parts.append(Text(text))
    return Message("assistant", tuple(parts))
