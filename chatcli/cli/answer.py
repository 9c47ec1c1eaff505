"""What `ask` prints when it does not print the reply as it comes: JSON, or a code block."""

import re
from typing import Literal

from chatcli.core.errors import UsageError
from chatcli.core.session import Session, Turn

# CommonMark 0.31, section 4.5: a fence is at least three backticks or tildes, indented by
# at most three spaces; it ends with a fence of the same character, at least as long.
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")


def code_blocks(text: str) -> list[str]:
    """Return the contents of the fenced code blocks; an unclosed one runs to the end."""
    blocks: list[str] = []
    lines: list[str] | None = None
    fence = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if lines is None:
            if found and not (found[1][0] == "`" and "`" in found[2]):
                fence, lines = found[1], []
        elif found and found[1].startswith(fence) and not found[2].strip():
            blocks.append("\n".join(lines))
            lines = None
        else:
            lines.append(line)
    if lines is not None:
        blocks.append("\n".join(lines))
    return blocks


def extracted(text: str, which: Literal["first", "last"]) -> str:
    """Return the first or last code block, without its fences.

    Raises:
        UsageError: there is none.
    """
    blocks = code_blocks(text)
    if not blocks:
        raise UsageError("the answer has no code block", "Leave out -x to see the whole answer")
    return blocks[0 if which == "first" else -1]


def as_json(turn: Turn, session: Session) -> dict[str, object]:
    """Return everything about a turn that a script may want, in the terms of `core`."""
    usage = turn.usage
    return {
        "answer": turn.reply.text,
        "reasoning": turn.reply.reasoning,
        "session": session.id,
        "turn": turn.id,
        "model": turn.route.model,
        "route": {"model": turn.route.model, "rule": turn.route.rule, "score": turn.route.score},
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
