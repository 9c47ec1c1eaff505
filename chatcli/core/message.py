"""What is said: messages and their parts.

Values only. Two messages with equal content are equal; identity belongs to
storage (`chatcli.sessions`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text."""

    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a file, a page or a pipe, given along with a question."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Text between the model's think markers; shown apart from the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for; `arguments` is the parsed JSON object."""

    id: str
    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the call gave back."""

    call_id: str
    output: str
    failed: bool = False


Part: TypeAlias = Text | Document | Reasoning | ToolCall | ToolResult


@dataclass(frozen=True, slots=True)
class Message:
    """One utterance: a role and its parts, in order."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The visible text, parts joined; documents and reasoning left out."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def reasoning(self) -> str:
        """The reasoning, parts joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def content(self) -> str:
        """What a chat template is given: documents first, so that they stay a shared prefix.

        A document alone (a pipe without an instruction) is the message itself.
        """
        documents = [part for part in self.parts if isinstance(part, Document)]
        results = "".join(part.output for part in self.parts if isinstance(part, ToolResult))
        text = self.text + results
        if not documents:
            return text
        if not text and len(documents) == 1:
            return documents[0].text
        blocks = [f"[{doc.name}]\n{doc.text.rstrip()}\n" for doc in documents]
        return "\n".join([*blocks, text])


def user(text: str, *documents: Document) -> Message:
    """Make a user's message: the documents, then the words."""
    words = (Text(text),) if text else ()
    return Message("user", (*documents, *words))


def assistant(text: str, reasoning: str = "") -> Message:
    """Make a reply: the reasoning, if any, then the words."""
    thought = (Reasoning(reasoning),) if reasoning else ()
    words = (Text(text),) if text else ()
    return Message("assistant", (*thought, *words))
