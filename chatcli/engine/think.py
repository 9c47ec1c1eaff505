"""Think markers: which ones a model has, and a filter that sets its reasoning apart.

Knows text only; nothing of tokens or of templates beyond their wording.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["text", "reasoning"]


@dataclass(frozen=True, slots=True)
class Markers:
    """How one family of models writes its reasoning.

    `opening` begins a block and `closing` ends it; `ending` ends the visible answer;
    `skipped` are markers around the answer that nobody needs to see. Where `header` is
    set, an opening marker only begins a header that runs to `header`, and the header's
    words say what follows: `answer` in it means visible text. `clue` gives the family
    away in a template that puts its markers together from parts.
    """

    name: str
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    ending: tuple[str, ...] = ()
    header: str = ""
    answer: str = ""
    clue: str = ""


def _pair(opening: str, closing: str) -> Markers:
    return Markers(opening, (opening,), (closing,))


HARMONY = Markers(
    "harmony",
    ("<|start|>", "<|channel|>"),
    ("<|end|>",),
    ending=("<|end|>", "<|return|>"),
    header="<|message|>",
    answer="<|channel|>final",
)
"""gpt-oss. `analysis` and `commentary` are reasoning, `final` is the answer."""

THINK = _pair("<think>", "</think>")

HEADER_LIMIT = 256
"""Characters within which a header must end; a longer one is not a header."""

FAMILIES: tuple[Markers, ...] = (
    HARMONY,
    Markers(
        "cohere",
        ("<|START_THINKING|>",),
        ("<|END_THINKING|>",),
        skipped=("<|START_RESPONSE|>",),
        ending=("<|END_RESPONSE|>",),
    ),
    Markers("gemma", ("<|channel>thought",), ("<channel|>",)),
    Markers(
        "kimi",
        ("<|open|>think<|sep|>",),
        ("<|close|>think<|sep|>",),
        skipped=("<|open|>response<|sep|>",),
        ending=("<|close|>response<|sep|>",),
        clue="open_tag('think'",
    ),
    Markers(
        "hunyuan",
        ("<think:opensource>",),
        ("</think:opensource>",),
        clue="'<think{}>'",
    ),
    _pair("<seed:think>", "</seed:think>"),
    _pair("<mm:think>", "</mm:think>"),
    _pair("[THINK]", "[/THINK]"),
    THINK,
)


def markers_for(template_source: str) -> tuple[Markers, ...]:
    """Return the families whose markers a chat template writes, most telling first.

    A closing marker is enough: some templates only split old replies at it.
    """
    return tuple(family for family in FAMILIES if _is_named(family, template_source))


def _is_named(family: Markers, source: str) -> bool:
    if family.header:
        return all(word in source for word in (family.answer, family.header))
    words = (*family.opening, *family.closing, *filter(None, (family.clue,)))
    return any(word in source for word in words)


class Piece(NamedTuple):
    """Some text, and how many characters of the input are accounted for up to its end."""

    kind: Kind
    text: str
    end: int


State: TypeAlias = Literal["start", "think", "after", "text", "done"]


class ThinkSplitter:
    r"""Splits a reply at its think markers, however the text is cut.

    A block counts only before the visible answer has begun (white space may stand before
    it): every model that thinks does so first, while an answer *about* `<think>` must come
    out as it was said. After a block, further blocks and stray markers are taken in the same
    way until visible text begins; inside a block an opening marker is plain reasoning and
    the first closing marker ends it. Markers go, and so do the line feeds next to them.
    """

    def __init__(self, markers: tuple[Markers, ...], inside: Markers | None = None) -> None:
        """Make a splitter; `inside` is the block that the prompt has already opened."""
        self._families = markers if inside is None or inside in markers else (inside, *markers)
        self._block = inside
        self._bare = inside is not None  # nothing but padding has been seen in this block
        self._held = ""
        self._consumed = 0
        self._ending = tuple(m for family in self._families for m in family.ending)
        self.state: State = "think" if inside else "start" if self._families else "text"
        self.text_start: int | None = None if self._families else 0

    @property
    def is_plain(self) -> bool:
        """Whether everything from here on is visible text that needs no look."""
        return self.state == "text" and not self._ending and not self._held

    @property
    def open_block(self) -> Markers | None:
        """The family of the block that is still open."""
        return self._block if self.state == "think" else None

    @property
    def held(self) -> str:
        """What is not decided yet."""
        return self._held

    @property
    def consumed(self) -> int:
        """Characters of the input that were released or removed for good."""
        return self._consumed

    def feed(self, text: str) -> list[Piece]:
        """Take some text; return what is decided."""
        if text and not self._held and self._is_dull(text):
            self._consumed += len(text)
            return [Piece("text" if self.state == "text" else "reasoning", text, self._consumed)]
        self._held += text
        return list(self._pieces(final=False))

    def flush(self) -> list[Piece]:
        """End the input; what was held back is what it looks like."""
        return list(self._pieces(final=True))

    def _is_dull(self, text: str) -> bool:
        """Whether there is nothing in `text` that a marker or its padding could begin with."""
        if self.state == "text":
            closing = self._ending
        elif self.state == "think" and self._block and not self._bare:
            closing = _closing(self._block)
        else:
            return False
        return "\n" not in text and not any(marker[0] in text for marker in closing)

    def _pieces(self, *, final: bool) -> Iterator[Piece]:
        while self._held:
            before = (self.state, len(self._held))
            if self.state in ("start", "after"):
                yield from self._outside(final=final)
            elif self.state == "think":
                yield from self._inside(final=final)
            else:
                yield from self._answer(final=final)
            if (self.state, len(self._held)) == before:
                return

    def _outside(self, *, final: bool) -> Iterator[Piece]:
        """Before the answer: a marker, the answer's first words, or not known yet."""
        words = self._held.lstrip()
        padding = len(self._held) - len(words)
        for family in self._families:
            if (length := self._marker_at(words, family)) is not None:
                self._take(padding + length)
                return
        if not final and (not words or self._may_become_marker(words)):
            return
        if self.state == "after":
            self._take(len(self._held) - len(self._held.lstrip("\n")))
        if self._held:
            self.state = "text"
            self.text_start = self._consumed
        yield from ()

    def _marker_at(self, words: str, family: Markers) -> int | None:
        """Recognise a marker at the start of `words`, enter its state, return its length."""
        if family.header and words.startswith(family.opening):
            end = words.find(family.header, 0, HEADER_LIMIT)
            if end < 0:
                return None
            if family.answer in words[:end]:
                self.state = "text"
                self.text_start = self._consumed + len(self._held) - len(words) + end
                self.text_start += len(family.header)
            else:
                self._enter(family)
            return end + len(family.header)
        for marker in (*family.opening, *family.closing, *family.skipped):
            if words.startswith(marker):
                if marker in family.opening:
                    self._enter(family)
                else:
                    self.state = "after"
                return len(marker)
        return None

    def _enter(self, family: Markers) -> None:
        self.state, self._block, self._bare = "think", family, True

    def _may_become_marker(self, words: str) -> bool:
        for family in self._families:
            if family.header and words.startswith(family.opening):
                return len(words) < HEADER_LIMIT
            for marker in (*family.opening, *family.closing, *family.skipped):
                if marker.startswith(words):
                    return True
        return False

    def _inside(self, *, final: bool) -> Iterator[Piece]:
        """In a block: reasoning up to its closing marker."""
        block = self._block
        if block is None:  # pragma: no cover - `_enter` sets it
            return
        if self._bare:
            self._take(len(self._held) - len(self._held.lstrip("\n")))
            self._bare = not self._held
        closing = _closing(block)
        at, marker = _first(self._held, closing)
        if marker:
            text = self._held[:at].rstrip("\n")
            yield from self._release("reasoning", len(text))
            self._take(at - len(text))
            self._take(len(marker) if marker in block.closing else 0)
            self.state = "after"
            return
        keep = 0 if final else _live_suffix(self._held, closing)
        body = self._held[: len(self._held) - keep]
        yield from self._release("reasoning", len(body if final else body.rstrip("\n")))

    def _answer(self, *, final: bool) -> Iterator[Piece]:
        """In the answer: all of it, up to the marker that ends it."""
        if self.state == "done":
            self._take(len(self._held))
            return
        at, marker = _first(self._held, self._ending)
        if marker:
            yield from self._release("text", at)
            self._take(len(self._held))
            self.state = "done"
            return
        keep = 0 if final else _live_suffix(self._held, self._ending)
        yield from self._release("text", len(self._held) - keep)

    def _release(self, kind: Kind, length: int) -> Iterator[Piece]:
        text = self._held[:length]
        self._take(length)
        if text:
            yield Piece(kind, text, self._consumed)

    def _take(self, length: int) -> None:
        self._held = self._held[length:]
        self._consumed += length


def _closing(block: Markers) -> tuple[str, ...]:
    return (*block.closing, *block.opening) if block.header else block.closing


def _first(text: str, markers: tuple[str, ...]) -> tuple[int, str]:
    """Find the first of `markers` in `text`: its place and itself, or (-1, "")."""
    found = [(at, marker) for marker in markers if (at := text.find(marker)) >= 0]
    return min(found, default=(-1, ""))


def _live_suffix(text: str, markers: tuple[str, ...]) -> int:
    """Return the length of the longest end of `text` that a marker may still complete."""
    return max((_overlap(text, marker) for marker in markers), default=0)


def _overlap(text: str, marker: str) -> int:
    at = text.find(marker[0], max(0, len(text) - len(marker) + 1)) if marker else -1
    while at >= 0:
        if marker.startswith(text[at:]):
            return len(text) - at
        at = text.find(marker[0], at + 1)
    return 0
