"""Counts in words: what is in the context, and what the turns cost."""

from collections.abc import Sequence

from chatcli.core.ports import Measure
from chatcli.core.printable import visible_line
from chatcli.core.session import Turn
from chatcli.core.usage import Usage
from chatcli.sessions.titles import clipped

_BAR = 40


def bar(used: int, limit: int, width: int = _BAR) -> str:
    """Return a bar of `width` cells; anything used shows at least one."""
    filled = min(width, max(1, round(width * used / limit))) if used and limit else 0
    return "#" * filled + "." * (width - filled)


def percent(used: int, limit: int) -> str:
    """Return a share as "12%"; "<1%" for a little."""
    share = 100 * used / limit if limit else 0.0
    return "<1%" if 0 < share < 1 else f"{share:.0f}%"


def turn_tokens(turn: Turn) -> tuple[int, int] | None:
    """Return (prompt, reply) tokens that the turn added to the context.

    None where its model left no record (it was made elsewhere, or imported).
    """
    record = next(iter(turn.tokens.values()), None)
    return None if record is None else (len(record.prompt), len(record.reply))


def context_text(turns: Sequence[Turn], left_out: int, measure: Measure) -> str:
    """Return the context as a table: tokens of each turn, and how full it is.

    `left_out` older turns are no longer in it.
    """
    used, limit = measure.prompt, measure.limit
    lines = [f"[{bar(used, limit)}] {used:,} of {limit:,} tokens ({percent(used, limit)})"]
    if left_out:
        lines.append(f"{left_out} older turns were left out (they are kept in the chat)")
    if turns:
        lines.append(f"{'turn':>6} {'asked':>8} {'reply':>8}")
    for number, turn in enumerate(turns, left_out + 1):
        tokens = turn_tokens(turn)
        asked, said = (f"{n:,}" for n in tokens) if tokens else ("?", "?")
        text = visible_line(" ".join(message.content[:500] for message in turn.asked))
        lines.append(f"{number:>6} {asked:>8} {said:>8}  {clipped(text, 48)}")
    return "\n".join(lines)


def total(usages: Sequence[Usage]) -> Usage:
    """Add up counts, times and bytes."""
    return Usage(
        reused_memory=sum(usage.reused_memory for usage in usages),
        reused_disk=sum(usage.reused_disk for usage in usages),
        evaluated=sum(usage.evaluated for usage in usages),
        completion=sum(usage.completion for usage in usages),
        prefill_s=sum(usage.prefill_s for usage in usages),
        decode_s=sum(usage.decode_s for usage in usages),
        ttft_s=sum(usage.ttft_s for usage in usages),
        read_bytes=sum(usage.read_bytes for usage in usages),
        written_bytes=sum(usage.written_bytes for usage in usages),
    )


def _rate(tokens: int, seconds: float) -> str:
    return f"{tokens / seconds:,.1f}" if seconds > 0 and tokens else "-"


def stats_text(usages: Sequence[Usage]) -> str:
    """Return the last turn and the whole chat side by side."""
    last, chat = usages[-1], total(usages)
    rows = [
        ("", "last turn", f"{len(usages)} turns"),
        ("prompt tokens", f"{last.prompt:,}", f"{chat.prompt:,}"),
        ("  reused from memory", f"{last.reused_memory:,}", f"{chat.reused_memory:,}"),
        ("  reused from disk", f"{last.reused_disk:,}", f"{chat.reused_disk:,}"),
        ("  evaluated", f"{last.evaluated:,}", f"{chat.evaluated:,}"),
        ("reply tokens", f"{last.completion:,}", f"{chat.completion:,}"),
        ("prompt tokens/s", _rate(last.evaluated, last.prefill_s),
         _rate(chat.evaluated, chat.prefill_s)),
        ("reply tokens/s", _rate(last.completion, last.decode_s),
         _rate(chat.completion, chat.decode_s)),
        ("first token, s", f"{last.ttft_s:.2f}", f"{chat.ttft_s / len(usages):.2f} mean"),
        ("state read, bytes", f"{last.read_bytes:,}", f"{chat.read_bytes:,}"),
        ("state written, bytes", f"{last.written_bytes:,}", f"{chat.written_bytes:,}"),
    ]  # fmt: skip
    return "\n".join(f"{name:<22}{one:>14}{all_:>14}".rstrip() for name, one, all_ in rows)
