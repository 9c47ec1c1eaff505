"""What a turn cost, in one line: for --usage and the status line."""

from chatcli.core.printable import model_label
from chatcli.core.session import FinishReason, Turn
from chatcli.core.usage import Usage

_WHY: dict[FinishReason, str] = {
    "stop": "",
    "length": "cut by the limit",
    "loop": "ended: it repeated itself",
    "tool_calls": "",
    "cancelled": "stopped",
    "blocked": "blocked",
    "interrupted": "interrupted",
}


def _context(usage: Usage) -> str:
    used = usage.prompt + usage.completion
    return f"context {used:,}/{usage.context:,}" if usage.context else f"context {used:,}"


def usage_line(turn: Turn, model: str) -> str:
    """Return model, prompt (evaluated + reused), reply, speed, time to first token, context."""
    usage = turn.usage
    disk = f" + {usage.reused_disk:,} from disk" if usage.reused_disk else ""
    parts = [
        model_label(model),
        f"prompt {usage.evaluated:,} new + {usage.reused_memory:,} reused{disk}",
        f"reply {usage.completion:,}",
        f"{usage.tokens_per_s:.1f} tokens/s" if usage.tokens_per_s else "",
        f"first token {usage.ttft_s:.2f} s" if usage.ttft_s else "",
        _context(usage),
        _WHY[turn.finish],
    ]
    return " | ".join(part for part in parts if part)
