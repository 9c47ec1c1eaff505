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
from chatcli.engine.think import Markers, ThinkSplitter


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
    """How a recorded reply joins the words that the template writes before it.

    Think markers and white space around it are as the record has them, not as the template
    has: templates write an empty block where the model wrote none, leave out one that the
    prompt had, or trim. Only reasoning that the template drops is dropped here, too.
    """

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
        said = b"".join(map(self._tokenizer.piece, thought)).decode("utf-8", "replace")
        shows_thought = slot.kind == "thought"
        if shows_thought or self._is_marking(said):
            for cut in range(len(lead.text), max(-1, len(lead.text) - 400), -1):
                own = self._prompted(lead.text[:cut])
                if own is None or not self._is_marking(lead.text[cut:]):
                    continue
                closing = between if shows_thought and not self._is_closed(said) else ""
                head = replace(lead, text=lead.text[:cut] + own)
                return [head, Said(thought), Words(closing, special=True), Said(answer)]
        inner = [Words(slot.text, special=False)] if shows_thought else []
        return [lead, *inner, Words(between, special=True), Said(answer)]

    def _prompted(self, words: str) -> str | None:
        """Return the markers that the reply's own prompt had behind `words`; None: not these."""
        end = words[-32:]
        for tail in self._tails:
            at = tail.rfind(end)
            if at >= 0 and self._is_marking(own := tail[at + len(end) :]):
                return own
            if end.endswith(tail):
                return ""
        return None

    def _is_marking(self, words: str) -> bool:
        """Whether there are only think markers and white space in `words`."""
        splitter = ThinkSplitter(self._markers)
        return not words.strip() or not (splitter.feed(words) or splitter.held.strip())

    def _is_closed(self, text: str) -> bool:
        return any(marker in text for family in self._markers for marker in family.closing)


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
