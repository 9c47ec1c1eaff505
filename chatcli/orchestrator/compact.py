"""Older turns, told in a few sentences by the model itself."""

from collections.abc import Sequence
from dataclasses import replace

from chatcli.core.cancel import Cancel
from chatcli.core.event import Generated
from chatcli.core.message import user
from chatcli.core.ports import Engine, Prompt
from chatcli.core.sampling import Sampling
from chatcli.core.session import Turn

_INSTRUCTION = (
    "Summarise the conversation above in a few short sentences."
    " Keep names, numbers, decisions and open questions. Write only the summary."
)


def summary_block(summary: str) -> str:
    """Return the text that stands in the system prompt for the turns left out."""
    return f"Earlier in this conversation: {summary}"


def _transcript(turns: Sequence[Turn]) -> list[str]:
    lines = []
    for turn in turns:
        lines += [f"User: {message.content}" for message in turn.asked]
        lines.append(f"Assistant: {turn.reply.text}")
    return lines


def summarise(turns: Sequence[Turn], engine: Engine, max_tokens: int, cancel: Cancel) -> str:
    """Ask the model for a summary of `turns` of at most `max_tokens` tokens.

    The transcript is cut from its start, line by line, until it fits the context: what is
    cut here was to leave the context anyway. Greedy, so that the same chat gives the same
    summary.
    """
    lines = _transcript(turns)
    prompt = Prompt(asked=(), sampling=Sampling(temperature=0.0), max_tokens=max_tokens)
    while True:
        asked = (user("\n".join([*lines, "", _INSTRUCTION])),)
        trial = replace(prompt, asked=asked)
        measure = engine.measure(trial)
        if measure.prompt + max_tokens <= measure.limit or len(lines) <= 1:
            break
        lines = lines[max(1, len(lines) // 4) :]
    for event in engine.generate(trial, cancel):
        if isinstance(event, Generated):
            return event.reply.text.strip()
    return ""
