"""A conversation as the segments that its token ids are made of.

The template renders the conversation with stand-ins for everything that was said, so that
its own words and the people's can be told apart: only the template's own words may become
control tokens, and what the model said is replaced by the ids that it said it with.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from chatcli.core.ports import Exchange, Prompt
from chatcli.engine.segment import Part, Said, Segment, Slot, Tokenizer, Words
from chatcli.engine.stage import Stage
from chatcli.engine.template import ChatTemplate
from chatcli.engine.think import Markers


def script(
    template: ChatTemplate, tokenizer: Tokenizer, prompt: Prompt, *, thinking: bool | None = None
) -> list[Segment]:
    """Return the segments of the whole context, up to where the reply to `asked` begins.

    Raises:
        TemplateError: the template refuses the conversation.
    """
    stage = Stage(template, tokenizer, prompt, thinking)
    segments = _settled(stage.parts(), template.markers, tokenizer)
    segments = [
        part for part in _spaces_moved(segments) if not isinstance(part, Words) or part.text
    ]
    bos = tokenizer.bos
    if tokenizer.add_bos and bos is not None:
        first = segments[0] if segments else None
        text = tokenizer.piece(bos).decode("utf-8", "replace")
        if not (
            isinstance(first, Words) and first.special and text and first.text.startswith(text)
        ):
            segments.insert(0, Said((bos,)))
    return segments


def _settled(
    parts: Sequence[Part], markers: tuple[Markers, ...], tokenizer: Tokenizer
) -> list[Segment]:
    """Replace what the model said by its ids, and fit the template's words around them."""
    segments: list[Segment] = []
    at = 0
    while at < len(parts):
        part = parts[at]
        at += 1
        if isinstance(part, Words):
            segments.append(part)
            continue
        if part.exchange is None or part.exchange.record is None:
            segments.append(Words(part.text, special=False))
            continue
        between = ""
        if part.kind == "thought":
            between, at = _up_to_answer(parts, at, part.exchange)
        before = segments.pop() if segments and isinstance(segments[-1], Words) else None
        lead = before if isinstance(before, Words) else Words("", special=True)
        fit = _Fit(part.exchange.record.prompt, tokenizer, markers)
        segments += fit.reply(part, lead, between)
    return segments


def _up_to_answer(parts: Sequence[Part], at: int, exchange: Exchange) -> tuple[str, int]:
    """Return the words between a thought and its answer, and where the answer ends."""
    between = ""
    for end in range(at, len(parts)):
        part = parts[end]
        if isinstance(part, Slot):
            is_answer = part.kind == "answer" and part.exchange is exchange
            return (between, end + 1) if is_answer else ("", at)
        between += part.text
    return "", at


class _Fit:
    """How a recorded reply joins the words that the template writes before it."""

    def __init__(
        self, prompt: tuple[int, ...], tokenizer: Tokenizer, markers: tuple[Markers, ...]
    ) -> None:
        self._tokenizer = tokenizer
        self._tails = _tails(prompt[-64:], tokenizer)
        self._markers = markers

    def reply(self, slot: Slot, lead: Words, between: str) -> list[Segment]:
        """Return the segments: the words before, the thoughts, the answer."""
        record = slot.exchange.record if slot.exchange else None
        if record is None:
            return [lead]
        thought, answer = record.reply[: record.thought], record.reply[record.thought :]
        for cut in range(len(lead.text), max(-1, len(lead.text) - 400), -1):
            head, rest = replace(lead, text=lead.text[:cut]), lead.text[cut:]
            if not self._ended_with(head.text):
                continue
            if slot.kind == "thought" and self._is_marking(rest):
                closing = [] if self._is_closed(thought) else [Words(between, special=True)]
                return [head, Said(thought), *closing, Said(answer)]
            if slot.kind == "answer" and thought and self._is_said(thought, rest):
                return [head, Said(thought), Said(answer)]
            if slot.kind == "answer" and not thought and self._is_said(answer, rest, begins=True):
                return [head, Said(answer)]
        if slot.kind == "thought":
            inner = Words(slot.text, special=False)
            return [lead, inner, Words(between, special=True), Said(answer)]
        return [lead, Said(answer)]

    def _ended_with(self, words: str) -> bool:
        """Whether the prompt that the reply followed ended with these words."""
        end = words[-32:]
        return any(tail.endswith(end) or end.endswith(tail) for tail in self._tails)

    def _is_marking(self, words: str) -> bool:
        """Whether there are only think markers and white space in `words`."""
        for family in self._markers:
            for marker in (*family.opening, *family.skipped):
                words = words.replace(marker, "")
        return not words.strip()

    def _is_closed(self, thought: tuple[int, ...]) -> bool:
        text = self._text(thought)
        return any(marker in text for family in self._markers for marker in family.closing)

    def _is_said(self, ids: tuple[int, ...], words: str, *, begins: bool = False) -> bool:
        """Whether the model said itself what the template writes here."""
        said = self._text(ids)
        if begins:
            return not words or (words.isspace() and said.startswith(words))
        return said.strip() == words.strip()

    def _text(self, ids: tuple[int, ...]) -> str:
        return b"".join(map(self._tokenizer.piece, ids)).decode("utf-8", "replace")


def _tails(ids: Sequence[int], tokenizer: Tokenizer) -> tuple[str, str]:
    """Decode `ids`, with and without the spaces that SentencePiece puts behind control tokens."""
    whole, bare = b"", b""
    after_control = False
    for token_id in ids:
        piece = tokenizer.piece(token_id)
        whole += piece
        bare += piece.removeprefix(b" ") if after_control and tokenizer.spm_space else piece
        after_control = tokenizer.is_control(token_id)
    return whole.decode("utf-8", "replace"), bare.decode("utf-8", "replace")


def _spaces_moved(segments: Sequence[Segment]) -> list[Segment]:
    """Move a space at the end of the template's words to the content behind it.

    Vocabularies have words with a space before them, not behind.
    """
    moved = list(segments)
    for at, (left, right) in enumerate(pairwise(segments)):
        if isinstance(left, Words) and isinstance(right, Words) and left.special > right.special:
            text = left.text.rstrip(" ")
            moved[at] = replace(left, text=text)
            moved[at + 1] = replace(right, text=left.text[len(text) :] + right.text)
    return moved
