"""What token ids are made of: the vocabulary, and the segments of a conversation."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from chatcli.core.ports import Exchange


class Tokenizer(Protocol):
    """A model's vocabulary."""

    @property
    def bos(self) -> int | None:
        """The id that begins a text, if there is one."""
        ...

    @property
    def add_bos(self) -> bool:
        """Whether the model wants every context to begin with it."""
        ...

    @property
    def spm_space(self) -> bool:
        """Whether a space is put before a text's first word (SentencePiece)."""
        ...

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Tokenise, adding nothing; with `special`, names of control tokens become them."""
        ...

    def piece(self, token_id: int) -> bytes:
        """Return a token's bytes; control tokens are written out."""
        ...

    def is_control(self, token_id: int) -> bool:
        """Whether it is a control token."""
        ...


@dataclass(frozen=True, slots=True)
class Words:
    """Text to tokenise; control tokens are read in it only where `special` says so."""

    text: str
    special: bool


@dataclass(frozen=True, slots=True)
class Said:
    """Ids that are known: what the model said, never tokenised again."""

    ids: tuple[int, ...]


Segment: TypeAlias = Words | Said


@dataclass(frozen=True, slots=True)
class Slot:
    """What a stand-in stands for."""

    kind: Literal["content", "answer", "thought"]
    text: str
    exchange: Exchange | None = None


Part: TypeAlias = Words | Slot
