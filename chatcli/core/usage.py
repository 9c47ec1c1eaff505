"""What a turn cost."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts, times in seconds, state bytes.

    `reused_memory + reused_disk + evaluated == prompt`: a token of the prompt was
    either found in this process, found in a stored block, or evaluated now.
    `ttft_s` runs from the request to the first token; `prefill_s` is evaluation alone.
    `context` is the most tokens that the chat may have with this model.
    """

    reused_memory: int = 0
    reused_disk: int = 0
    evaluated: int = 0
    completion: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    ttft_s: float = 0.0
    read_bytes: int = 0
    written_bytes: int = 0
    context: int = 0

    @property
    def prompt(self) -> int:
        """Prompt tokens, reused or not."""
        return self.reused_memory + self.reused_disk + self.evaluated

    @property
    def tokens_per_s(self) -> float:
        """Decode speed; 0 when nothing was decoded."""
        return self.completion / self.decode_s if self.decode_s > 0 else 0.0
