"""How the next token is drawn. Field names and meanings are llama.cpp's."""

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampler parameters; None means: the model's own default, else the documented one.

    `temperature` 0 is greedy. `seed` None draws a new seed each turn. A `repeat_last_n`
    or `dry_last_n` of -1 means the whole context. `mirostat` is 0 (off), 1 or 2.
    `logit_bias` holds (token id, added logit) pairs.
    """

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    top_n_sigma: float | None = None
    repeat_penalty: float | None = None
    repeat_last_n: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    dry_multiplier: float | None = None
    dry_base: float | None = None
    dry_allowed_length: int | None = None
    dry_last_n: int | None = None
    xtc_probability: float | None = None
    xtc_threshold: float | None = None
    mirostat: int | None = None
    mirostat_tau: float | None = None
    mirostat_eta: float | None = None
    seed: int | None = None
    logit_bias: tuple[tuple[int, float], ...] = ()

    def over(self, below: "Sampling") -> "Sampling":
        """Return these values where they are set, `below`'s elsewhere."""
        mine = {
            f.name: value
            for f in fields(self)
            if (value := getattr(self, f.name)) not in (None, ())
        }
        return replace(below, **mine)


DEFAULT_SAMPLING = Sampling(
    temperature=0.8,
    top_k=40,
    top_p=0.95,
    min_p=0.05,
    typical_p=1.0,
    top_n_sigma=-1.0,
    repeat_penalty=1.0,
    repeat_last_n=64,
    frequency_penalty=0.0,
    presence_penalty=0.0,
    dry_multiplier=0.0,
    dry_base=1.75,
    dry_allowed_length=2,
    dry_last_n=-1,
    xtc_probability=0.0,
    xtc_threshold=0.1,
    mirostat=0,
    mirostat_tau=5.0,
    mirostat_eta=0.1,
)
"""llama.cpp's own defaults (`common_params_sampling`), used where neither model nor user says."""
