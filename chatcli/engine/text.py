"""From a model's tokens to text that is safe to show: feed()/flush() filters, all pure.

However the bytes are cut into tokens, the same text comes out. What is not decided yet
(half a character, what may become a stop string or a think marker) is held back.
"""

import codecs
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from chatcli.core.event import Delta
from chatcli.engine.think import Kind, Markers, Piece, ThinkSplitter, markers_for

__all__ = [
    "LoopDetector",
    "Markers",
    "Reply",
    "StopStrings",
    "ThinkSplitter",
    "Utf8",
    "markers_for",
]


class Utf8:
    """Bytes to text. A cut character is held back; an invalid byte is U+FFFD at once."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def pending(self) -> bytes:
        """The beginning of a character whose rest has not come yet."""
        return self._decoder.getstate()[0]

    def feed(self, data: bytes) -> str:
        """Take some bytes; return the characters that are complete."""
        return self._decoder.decode(data)

    def flush(self) -> bytes:
        """End the input; return the bytes of a half character, which are dropped."""
        dropped = self.pending
        self._decoder.reset()
        return dropped


class _Scanner:
    """How far the text matches one stop string (Knuth, Morris and Pratt 1977)."""

    def __init__(self, stop: str) -> None:
        self.stop = stop
        self.state = 0
        self._border = [0] * (len(stop) + 1)
        length = 0
        for at in range(1, len(stop)):
            while length and stop[at] != stop[length]:
                length = self._border[length]
            length += stop[at] == stop[length]
            self._border[at + 1] = length

    def feed(self, text: str) -> int | None:
        """Return where in `text` the first match ends, or None."""
        state, stop = self.state, self.stop
        if not state and stop[0] not in text:
            return None
        for at, char in enumerate(text, 1):
            while state and char != stop[state]:
                state = self._border[state]
            state += char == stop[state]
            if state == len(stop):
                return at
        self.state = state
        return None


class StopStrings:
    """Ends the text before the first stop string that is completed (the longest, of several).

    Holds back the end of the text only while it may still become a stop string.
    `matched` is the stop string that was found; after it everything is dropped.
    """

    def __init__(self, stops: Iterable[str]) -> None:
        self._scanners = [_Scanner(stop) for stop in stops if stop]
        self._held = ""
        self.matched: str | None = None

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to look for."""
        return not self._scanners

    @property
    def held(self) -> int:
        """Characters held back."""
        return len(self._held)

    def feed(self, text: str) -> str:
        """Take some text; return what cannot be part of a stop string any more."""
        if self.matched is not None:
            return ""
        ends = [(end, s.stop) for s in self._scanners if (end := s.feed(text)) is not None]
        text = self._held + text
        if ends:
            end, stop = min(ends, key=lambda found: (found[0], -len(found[1])))
            at = len(self._held) + end - len(stop)
            self.matched, self._held = stop, ""
            return text[:at]
        keep = max((scanner.state for scanner in self._scanners), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """End the input; return what was held back."""
        text, self._held = self._held, ""
        for scanner in self._scanners:
            scanner.state = 0
        return text


class Reply:
    r"""A reply as it comes: tokens in, deltas out, and which tokens the deltas cover.

    Stop strings are looked for in the visible answer only: one that stands in the
    reasoning (a blank line always does) must not end the reply before it has begun.
    The text is what the model said, apart from the think markers and their padding.
    """

    def __init__(
        self,
        markers: Sequence[Markers] = (),
        stops: Iterable[str] = (),
        *,
        starts_in_thought: Markers | None = None,
    ) -> None:
        self.ids: list[int] = []
        self._ends: list[int] = []  # of each token, in characters; half a character counts as one
        self._utf8 = Utf8()
        self._think = ThinkSplitter(tuple(markers), starts_in_thought)
        self._stops = StopStrings(stops)
        self._n_chars = 0
        self._released = 0  # characters that were shown or removed for good
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._is_answer = self._think.is_plain  # visible text is all that can come
        self._is_plain = False  # and no stop string is looked for
        self._is_fast = False  # and no character is cut
        self._settle()

    @property
    def matched(self) -> str | None:
        """The stop string that ended the answer; None while it goes on."""
        return self._stops.matched

    @property
    def text(self) -> str:
        """The visible text so far: its deltas joined."""
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        """The reasoning so far: its deltas joined."""
        return "".join(self._reasoning)

    @property
    def kept(self) -> int:
        """How many of the ids are wholly covered by what was released.

        Cut the ids and the KV cache to this number after a stop string or a `flush`. A
        token that holds both shown text and the start of a stop string is not kept: the
        model never remembers what the user did not see.
        """
        return bisect_right(self._ends, self._n_chars if self._is_plain else self._released)

    @property
    def thought(self) -> int:
        """How many of the kept ids are reasoning and its markers; a straddling one is."""
        start = self._think.text_start
        if start is None:
            return self.kept
        return min(bisect_left(self._ends, start) + 1, self.kept) if start else 0

    def text_tokens(self, shown: int) -> int:
        """Return how many ids to keep when only `shown` characters of the text are kept."""
        start = self._think.text_start
        if start is None or shown >= sum(map(len, self._text)):
            return self.kept
        return min(bisect_right(self._ends, start + shown), self.kept)

    def feed(self, token_id: int, piece: bytes) -> list[Delta]:
        """Take one token and its bytes (control tokens written out); return what can be shown."""
        self.ids.append(token_id)
        if self._is_fast and piece.isascii():
            text = piece.decode("ascii")
            self._n_chars += len(text)
            self._ends.append(self._n_chars)
            if not text:
                return []
            self._text.append(text)
            return [Delta("text", text)]
        return self._feed_carefully(piece)

    def _feed_carefully(self, piece: bytes) -> list[Delta]:
        text = self._utf8.feed(piece)
        self._n_chars += len(text)
        self._ends.append(self._n_chars + bool(self._utf8.pending))
        if self._is_answer:
            deltas = self._answer(text)
        else:
            deltas = self._split(self._think.feed(text))
            self._is_answer = self._think.is_plain
        self._settle()
        return deltas

    def flush(self) -> list[Delta]:
        """End the reply; return what was held back. Half a character is dropped."""
        self._utf8.flush()
        deltas: list[Delta] = []
        if not self._is_answer:
            deltas = self._split(self._think.flush())
        if self.matched is None:
            held = self._stops.flush()
            self._released = self._released + len(held) if self._is_answer else self._think.consumed
            deltas += self._say("text", held)
        self._settle()
        return deltas

    def _answer(self, text: str) -> list[Delta]:
        shown = text if self._stops.is_idle else self._stops.feed(text)
        self._released += len(shown)
        return self._say("text", shown)

    def _split(self, pieces: list[Piece]) -> list[Delta]:
        deltas: list[Delta] = []
        for kind, text, end in pieces:
            if self.matched is not None:
                break
            if kind == "reasoning":
                deltas += self._say(kind, text)
                continue
            held = self._stops.held
            shown = self._stops.feed(text)
            deltas += self._say(kind, shown)
            self._released = end - len(text) - held + len(shown)
        if self.matched is None and not self._stops.held:
            self._released = self._think.consumed
        return deltas

    def _say(self, kind: Kind, text: str) -> list[Delta]:
        if not text:
            return []
        (self._text if kind == "text" else self._reasoning).append(text)
        return [Delta(kind, text)]

    def _settle(self) -> None:
        self._is_plain = self._is_answer and self._stops.is_idle
        self._is_fast = self._is_plain and not self._utf8.pending


class LoopDetector:
    """Tells when the model goes round in circles.

    It does when the last ``n * times`` ids repeat with some period of at most `n`: the
    same `n` tokens `times` times in a row, or a shorter cycle for as long.

    For each id the places of its last occurrences are kept as bits, so that one shift says
    with which lags it recurs. A lag that has recurred a few times in a row is watched: its
    run began at a known place, and is long enough at another, if it lives that long.
    """

    def __init__(self, n: int = 30, times: int = 3) -> None:
        self._window = n * times
        self._lags = (1 << (n + 1)) - 1
        self._at = 0
        self._seen: dict[int, tuple[int, int]] = {}  # id: its last place, and places before it
        # Single recurrences are common in any text; four in a row at one lag are not.
        self._before = [0] * (min(4, max(1, self._window - n)) - 1)
        self._watched = 0
        self._since = [0] * (n + 1)  # for each lag, where its present run began
        self._due: dict[int, int] = {}  # place: lags whose run is long enough there

    def feed(self, token_id: int) -> bool:
        """Take one token id; return whether the reply has begun to loop."""
        at = self._at = self._at + 1
        last, places = self._seen.get(token_id, (at, 0))
        lags = (places << (at - last)) & self._lags if at - last < self._window else 0
        self._seen[token_id] = (at, lags | 1)
        running = lags
        if self._before:
            for earlier in self._before:
                running &= earlier
            self._before.append(lags)
            del self._before[0]
        if running & ~self._watched:
            self._watch(running & ~self._watched)
        self._watched = running
        due = self._due.pop(at, 0) & running if self._due else 0
        return bool(due) and self._is_whole(due)

    def _watch(self, begun: int) -> None:
        since = self._at - len(self._before)
        while begun:
            lag = begun.bit_length() - 1
            begun ^= 1 << lag
            self._since[lag] = since
            due = since + self._window - lag - 1
            self._due[due] = self._due.get(due, 0) | 1 << lag

    def _is_whole(self, due: int) -> bool:
        """Whether one of these lags has run without a break since it was watched."""
        began = self._at - self._window + 1
        return any(
            due >> lag & 1 and self._since[lag] == began + lag for lag in range(1, len(self._since))
        )
