"""Tokenizer doubles: a regular expression cuts the words, control tokens have names."""

import re
from dataclasses import dataclass, field


@dataclass
class Vocabulary:
    """Ids below 256 are bytes; then the control tokens; then words as they are met.

    With `spm_space` a space is put before the first word of a text and behind control
    tokens, as llama.cpp does for SentencePiece vocabularies.
    """

    controls: tuple[str, ...] = ()
    bos_text: str = ""
    add_bos: bool = False
    spm_space: bool = False
    words: list[str] = field(default_factory=list)

    @property
    def bos(self) -> int | None:
        """The id of `bos_text`."""
        return 256 + self.controls.index(self.bos_text) if self.bos_text else None

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Cut at control tokens, then at words with the space before them."""
        if not (special and self.controls):
            return self._cut(text)
        names = "|".join(re.escape(name) for name in sorted(self.controls, key=len, reverse=True))
        ids: list[int] = []
        for at, part in enumerate(re.split(f"({names})", text)):
            ids += [256 + self.controls.index(part)] if at % 2 else self._cut(part)
        return ids

    def _cut(self, text: str) -> list[int]:
        spaced = " " + text if self.spm_space and text else text
        return [self._id(word) for word in re.findall(r" ?\w{1,5}|\s|.", spaced)]

    def _id(self, word: str) -> int:
        if word not in self.words:
            self.words.append(word)
        return 256 + len(self.controls) + self.words.index(word)

    def piece(self, token_id: int) -> bytes:
        """Return the bytes of any token."""
        if token_id < 256:
            return bytes([token_id])
        names = (*self.controls, *self.words)
        return names[token_id - 256].encode("utf-8", "replace")

    def is_control(self, token_id: int) -> bool:
        """Whether it is one of the named control tokens."""
        return 256 <= token_id < 256 + len(self.controls)

    def text(self, ids: tuple[int, ...]) -> str:
        """Decode a context."""
        return b"".join(map(self.piece, ids)).decode("utf-8", "replace")
