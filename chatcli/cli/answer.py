"""What `ask` makes of a finished turn: JSON, a code block, an exit code. Pure."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from chatcli.core.errors import Blocked, ChatcliError, CutOff
from chatcli.core.session import FinishReason, Session, Turn

# CommonMark 0.31, section 4.5: a fence is at least three backticks or tildes, indented by
# at most three spaces; it ends with a fence of the same character, at least as long. Behind
# "- " or "1. " a fence stands in a list, and its lines are indented as it is.
_OPENING = re.compile(r"^(?P<indent>\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?)(?P<fence>`{3,}|~{3,})(.*)$")

CODES: Mapping[FinishReason, int] = {
    "stop": 0,
    "tool_calls": 0,
    "length": CutOff.exit_code,
    "loop": CutOff.exit_code,
    "blocked": Blocked.exit_code,
    "cancelled": 130,
    "interrupted": 1,
}
"""The exit code for each way in which a reply can end."""

REMARKS: Mapping[FinishReason, str] = {
    "length": "The answer was cut at the token limit: --max-tokens raises it",
    "loop": "The answer was ended, for it repeated itself: another --seed or model may help",
    "blocked": "The answer was blocked by a safety rule",
}
"""What is said on stderr about a reply that is not whole."""


class Block(NamedTuple):
    """A fenced code block; `closed` false: the text ended inside it."""

    text: str
    closed: bool


def code_blocks(text: str) -> list[Block]:
    """Return the fenced code blocks; one that is not closed runs to the end."""
    blocks: list[Block] = []
    lines: list[str] | None = None
    fence, indent = "", 0
    for line in text.split("\n"):
        if lines is None:
            if opened := _opening(line):
                fence, indent, lines = *opened, []
        elif _closes(line, fence):
            blocks.append(Block("\n".join(lines), closed=True))
            lines = None
        else:
            lines.append(_dedented(line, indent))
    if lines is not None:
        blocks.append(Block("\n".join(lines), closed=False))
    return blocks


def _opening(line: str) -> tuple[str, int] | None:
    """Return the fence that `line` opens, and how far it is indented."""
    found = _OPENING.match(line.rstrip("\r"))
    if found is None or (found["fence"][0] == "`" and "`" in found[3]):
        return None
    return found["fence"], len(found["indent"])


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def _dedented(line: str, indent: int) -> str:
    space = len(line) - len(line.lstrip(" "))
    return line.rstrip("\r")[min(space, indent) :]


def extracted(turn: Turn, which: Literal["first", "last"]) -> str:
    """Return the first or last code block of a reply, without its fences.

    A reply that was cut gives its first block if that is closed; which one would have been
    its last, nobody knows.

    Raises:
        CutOff: the block was not complete.
        ChatcliError: there is none.
    """
    blocks = code_blocks(turn.reply.text)
    whole = CODES[turn.finish] == 0
    if not whole and (which == "last" or not blocks or not blocks[0].closed):
        raise CutOff(
            f"the answer was cut ({turn.finish}) before the code block was complete",
            "Raise --max-tokens",
        )
    if not blocks:
        raise ChatcliError(
            "the answer has no code block; nothing was printed",
            "Leave out -x to see the whole answer",
        )
    return blocks[0 if which == "first" else -1].text


def as_json(turn: Turn, session: Session, *, kept: bool) -> dict[str, object]:
    """Return everything about a turn that a script may want, in the terms of `core`.

    `kept` false: there is no session to name.
    """
    usage = turn.usage
    route = turn.route
    return {
        "answer": turn.reply.text,
        "reasoning": turn.reply.reasoning,
        "session": session.id if kept else None,
        "turn": turn.id if kept else None,
        "model": route.model,
        "route": {"model": route.model, "rule": route.rule, "score": route.score},
        "finish": turn.finish,
        "usage": {
            "prompt": usage.prompt,
            "reused_memory": usage.reused_memory,
            "reused_disk": usage.reused_disk,
            "evaluated": usage.evaluated,
            "completion": usage.completion,
            "context": usage.context,
            "prefill_s": round(usage.prefill_s, 4),
            "decode_s": round(usage.decode_s, 4),
            "ttft_s": round(usage.ttft_s, 4),
            "read_bytes": usage.read_bytes,
            "written_bytes": usage.written_bytes,
        },
    }
