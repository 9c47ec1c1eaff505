"""Does a template keep what has been evaluated, as a chat grows?

A probe with a made-up chat and a vocabulary of letters; no model is needed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from chatcli.core.message import assistant, user
from chatcli.core.ports import Exchange, Prompt
from chatcli.engine.align import Plan, plan, recorded
from chatcli.engine.template import ChatTemplate
from chatcli.engine.text import Reply

_TURNS = 10


class Letters:
    """A vocabulary of single bytes, without control tokens."""

    bos: int | None = None
    add_bos = False
    spm_space = False

    def tokenize(self, text: str, *, special: bool) -> list[int]:  # noqa: ARG002 - there are none
        """Return the bytes of `text`."""
        return list(text.encode())

    def piece(self, token_id: int) -> bytes:
        """Return the byte."""
        return bytes([token_id])

    def is_control(self, token_id: int) -> bool:  # noqa: ARG002 - there are none
        """Say no."""
        return False


@dataclass(frozen=True, slots=True)
class Course:
    """How one probe went: ids that the record held before each turn, and ids that stayed.

    `within_last_turn`: whatever was evaluated again had first been evaluated in the turn
    before, so that no id is ever evaluated three times.
    """

    held: int
    kept: int
    within_last_turn: bool

    @property
    def is_stable(self) -> bool:
        """Whether nothing was ever evaluated again."""
        return self.held == self.kept


@dataclass(frozen=True, slots=True)
class Stability:
    """The probe's outcome, with plain replies and with replies that think first."""

    plain: Course
    thinking: Course


def stability(template: ChatTemplate, *, thinking: bool | None = None) -> Stability:
    """Probe a template with a chat of ten turns; `thinking` is what it is told about it.

    Raises:
        TemplateError: it refuses the chat.
    """
    return Stability(
        plain=_course(template, thinking, thoughtful=False),
        thinking=_course(template, thinking, thoughtful=True),
    )


def _course(template: ChatTemplate, thinking: bool | None, *, thoughtful: bool) -> Course:
    held = kept = 0
    within = True
    for history, made in _chat(template, thinking, thoughtful=thoughtful):
        context = recorded(history)
        held += len(context)
        kept += len(made.kept)
        if history and made.rewritten:
            last = history[-1].record
            within = within and last is not None and len(made.kept) >= last.keep
    return Course(held, kept, within)


def _chat(
    template: ChatTemplate, thinking: bool | None, *, thoughtful: bool
) -> Iterator[tuple[tuple[Exchange, ...], Plan]]:
    letters = Letters()
    history: tuple[Exchange, ...] = ()
    for turn in range(_TURNS):
        asked = (user(f"Question {turn}, please?"),)
        prompt = Prompt(asked=asked, history=history, system="Be kind.", clock=86_400.0)
        made = plan(template, letters, prompt, thinking=thinking)
        yield history, made
        reply = Reply(made.markers, starts_in_thought=made.starts_in_thought)
        for byte in _said(turn, made, thoughtful=thoughtful).encode():
            reply.feed(byte, bytes([byte]))
        reply.flush()
        record = made.record(reply.ids[: reply.kept], reply.thought)
        history += (Exchange(asked, assistant(reply.text, reply.reasoning), record),)


def _said(turn: int, made: Plan, *, thoughtful: bool) -> str:
    """Make a reply as a model would write it after this prompt."""
    answer = f"Answer {turn}.\n\nThat is all."
    block = made.starts_in_thought or (made.markers[0] if made.markers and thoughtful else None)
    if block is None:
        return answer
    if block.header:
        thought = f"<|channel|>analysis<|message|>Thought {turn}.<|end|>" if thoughtful else ""
        return f"{thought}<|start|>assistant<|channel|>final<|message|>{answer}"
    opening = "" if made.starts_in_thought else f"{block.opening[0]}\n"
    thought = f"Thought {turn}.\n" if thoughtful else ""
    return f"{opening}{thought}{block.closing[0]}\n\n{answer}"
