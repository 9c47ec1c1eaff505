"""Which token ids of the record stay valid, and which have to be evaluated anew.

The exact ids are the record (`chatcli.core.session.TokenRecord`). The template's rendering
of the whole conversation is laid beside it, from the start: the template's words and the
users' by the bytes of the recorded ids, what the model said by the ids alone. Everything up
to the first difference is kept; behind it, only words are tokenised, never what was said.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chatcli.core.ports import Exchange, Prompt
from chatcli.core.session import TokenRecord
from chatcli.engine.script import script
from chatcli.engine.segment import Said, Segment, Tokenizer, Words
from chatcli.engine.template import ChatTemplate
from chatcli.engine.think import Markers, ThinkSplitter

__all__ = ["Plan", "Tokenizer", "plan", "recorded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The ids of a context: `kept` from the record, then `fresh`.

    `rewritten` says that the template changed something that had been evaluated.
    `markers` and `starts_in_thought` are for `text.Reply`. `keep_of_last` is how much of
    the context after the last turn stays. With `Prompt.resume`, the ids of the reply so
    far are the last of ``kept + fresh``, and are in `resumed` as well.
    """

    kept: tuple[int, ...]
    fresh: tuple[int, ...]
    keep_of_last: int
    rewritten: bool
    markers: tuple[Markers, ...] = ()
    starts_in_thought: Markers | None = None
    resumed: tuple[int, ...] = ()
    resumed_thought: int = 0

    @property
    def ids(self) -> tuple[int, ...]:
        """The whole context that the next token follows."""
        return self.kept + self.fresh

    def record(self, said: Iterable[int], thought: int) -> TokenRecord:
        """Make the turn's record of the ids `said` now, of which the first `thought` are reasoning.

        A resumed reply's record holds the old ids and the new.
        """
        ids = self.ids
        end = len(ids) - len(self.resumed)
        if self.resumed_thought < len(self.resumed):
            thought = 0  # the answer had begun already
        return TokenRecord(
            keep=self.keep_of_last,
            prompt=ids[self.keep_of_last : end],
            reply=(*self.resumed, *said),
            thought=self.resumed_thought + thought,
        )


def plan(
    template: ChatTemplate, tokenizer: Tokenizer, prompt: Prompt, *, thinking: bool | None = None
) -> Plan:
    """Lay the conversation beside its record.

    Raises:
        TemplateError: the template refuses the conversation.
    """
    segments = script(template, tokenizer, prompt, thinking=thinking)
    inside = _opened(segments, template.markers)
    parent = recorded(prompt.history)
    context, markers = parent, template.markers
    resumed: tuple[int, ...] = ()
    thought = 0
    if prompt.resume is not None:
        context = recorded((*prompt.history, prompt.resume))
        resumed, thought = _reply_so_far(prompt.resume, segments[-1:], inside, tokenizer)
        segments.append(Said(resumed))
        inside = _still_open(resumed[:thought], markers, inside, tokenizer)
        markers = () if thought < len(resumed) else markers
    kept, fresh = _aligned(segments, context, tokenizer)
    ids = (kept + fresh)[: len(kept) + len(fresh) - len(resumed)]
    return Plan(
        kept=kept,
        fresh=fresh,
        keep_of_last=_common(parent, ids),
        rewritten=len(kept) < len(context),
        markers=markers,
        starts_in_thought=inside if markers else None,
        resumed=resumed,
        resumed_thought=thought,
    )


def recorded(history: Iterable[Exchange]) -> tuple[int, ...]:
    """Return the context after these turns, as the record has it.

    Empty where it is not known: the turn that a record builds on was left out.
    """
    context: list[int] = []
    for exchange in history:
        record = exchange.record
        if record is None:
            continue
        is_known = record.keep <= len(context)
        del context[record.keep if is_known else 0 :]
        if is_known:
            context += record.prompt
            context += record.reply
    return tuple(context)


def _reply_so_far(
    resume: Exchange, before: Sequence[Segment], inside: Markers | None, tokenizer: Tokenizer
) -> tuple[tuple[int, ...], int]:
    """Return the ids of the reply to go on with, and how many of them are reasoning."""
    if resume.record is not None:
        return resume.record.reply, resume.record.thought
    is_thought = not resume.reply.text and inside is not None
    text = resume.reply.reasoning if is_thought else resume.reply.text
    ids = _ids([Words(text, special=False)], _ids(before, (), tokenizer), tokenizer)
    return ids, len(ids) if is_thought else 0


def _still_open(
    thought: tuple[int, ...],
    markers: tuple[Markers, ...],
    inside: Markers | None,
    tokenizer: Tokenizer,
) -> Markers | None:
    splitter = ThinkSplitter(markers, inside)
    splitter.feed(b"".join(map(tokenizer.piece, thought)).decode("utf-8", "replace"))
    return splitter.open_block


def _opened(segments: Sequence[Segment], markers: tuple[Markers, ...]) -> Markers | None:
    """Return the think block that the generation prompt ends in."""
    last = segments[-1] if segments else None
    if not isinstance(last, Words) or not last.special:
        return None
    end = last.text.rstrip()
    return next((m for m in markers if not m.header and end.endswith(m.opening)), None)


def _aligned(
    segments: Sequence[Segment], context: tuple[int, ...], tokenizer: Tokenizer
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split the context that `segments` describe into the recorded prefix and the rest."""
    at = 0
    for number, segment in enumerate(segments):
        end = _matched(segment, context, at, tokenizer)
        if end is None:
            fresh = _ids(segments[number:], context[:at], tokenizer)
            common = _common(context[at:], fresh)
            return context[: at + common], fresh[common:]
        at = end
    return context[:at], ()


def _matched(
    segment: Segment, context: tuple[int, ...], at: int, tokenizer: Tokenizer
) -> int | None:
    """Return where the ids of `segment` end in `context`; None if they are not at `at`."""
    if isinstance(segment, Said):
        end = at + len(segment.ids)
        return end if context[at:end] == segment.ids else None
    if at == len(context):
        return None
    # As the tokenizer does it: half of a surrogate pair is read as "?".
    spelled = _spelled(segment.text.encode("utf-8", "replace"), context, at, tokenizer)
    if spelled is not None:
        return spelled
    ids = _ids([segment], context[:at], tokenizer)
    return at + len(ids) if context[at : at + len(ids)] == ids else None


def _spelled(text: bytes, context: tuple[int, ...], at: int, tokenizer: Tokenizer) -> int | None:
    """Return the end of the ids from `at` that spell `text`."""
    offset = 0
    while offset < len(text):
        if at == len(context):
            return None
        piece = tokenizer.piece(context[at])
        if not text.startswith(piece, offset):
            starts = at == 0 or tokenizer.is_control(context[at - 1])
            piece = piece.removeprefix(b" ") if starts and tokenizer.spm_space else b"\xff"
            if not text.startswith(piece, offset):
                return None
        offset += len(piece)
        at += 1
    return at if offset == len(text) else None


def _ids(
    segments: Iterable[Segment], before: tuple[int, ...], tokenizer: Tokenizer
) -> tuple[int, ...]:
    """Return the ids of `segments`, as they follow `before`."""
    ids: list[int] = []
    for segment in segments:
        if isinstance(segment, Said):
            ids += segment.ids
            continue
        last = ids[-1] if ids else before[-1] if before else None
        follows = last is not None and not tokenizer.is_control(last)
        if follows and tokenizer.spm_space:
            ids += _without_space(segment, tokenizer)
        else:
            ids += tokenizer.tokenize(segment.text, special=segment.special)
    return tuple(ids)


def _without_space(words: Words, tokenizer: Tokenizer) -> list[int]:
    """Tokenise words that go on, without the space that SentencePiece puts in front.

    Its own space stands for one that is there; else the words are tokenised behind a line
    feed, which never joins a word, and it is taken off again.
    """
    if words.text.startswith(" "):
        return tokenizer.tokenize(words.text[1:], special=words.special)
    ids = tokenizer.tokenize(words.text, special=words.special)
    if not ids or not tokenizer.piece(ids[0]).startswith(b" "):
        return ids
    longer = tokenizer.tokenize("\n" + words.text, special=words.special)
    lead = b""
    for at, token_id in enumerate(longer, 1):
        lead += tokenizer.piece(token_id)
        if lead in (b" \n", b"\n"):
            return longer[at:]
    return ids


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many ids both begin with."""
    for at, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return at
    return min(len(left), len(right))
