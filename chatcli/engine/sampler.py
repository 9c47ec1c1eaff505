"""Parameters to a chain of llama.cpp samplers, in llama.cpp's own order.

penalties, DRY, top-n-sigma, top-k, typical, top-p, min-p, XTC, temperature, then the draw
(`common_sampler_init` in llama.cpp). Mirostat takes the place of everything after the
penalties; temperature 0 takes the most likely id.
"""

import math
import secrets

from chatcli.core.sampling import DEFAULT_SAMPLING, Sampling
from chatcli.engine.binding import Model
from chatcli.engine.chain import SamplerChain

_META = {
    "temperature": "general.sampling.temp",
    "top_k": "general.sampling.top_k",
    "top_p": "general.sampling.top_p",
    "min_p": "general.sampling.min_p",
    "xtc_probability": "general.sampling.xtc_probability",
    "xtc_threshold": "general.sampling.xtc_threshold",
    "repeat_last_n": "general.sampling.penalty_last_n",
    "repeat_penalty": "general.sampling.penalty_repeat",
    "mirostat": "general.sampling.mirostat",
    "mirostat_tau": "general.sampling.mirostat_tau",
    "mirostat_eta": "general.sampling.mirostat_eta",
}
"""GGUF metadata keys of a model's own defaults (`llama_model_meta_key_str`)."""

_WHOLE = ("top_k", "repeat_last_n", "mirostat")


def model_sampling(model: Model) -> Sampling:
    """Return the defaults that the GGUF itself states, None where it is silent."""
    found: dict[str, float] = {}
    for name, key in _META.items():
        value = model.meta(key)
        if value is None:
            continue
        try:
            number = float(value)
        except ValueError:
            continue  # a malformed default is no reason not to chat
        if math.isfinite(number):
            found[name] = int(number) if name in _WHOLE else number
    return Sampling(**found)  # type: ignore[arg-type]  # whole numbers were made int above


def effective(model: Model, sampling: Sampling) -> Sampling:
    """Fill what `sampling` leaves open: the model's defaults, then the documented ones."""
    return sampling.over(model_sampling(model)).over(DEFAULT_SAMPLING)


def make_chain(model: Model, sampling: Sampling) -> SamplerChain:
    """Build the chain for `sampling`, filled by `effective`.

    Samplers that would change nothing are left out: they would still walk the vocabulary.
    """
    s = effective(model, sampling)
    chain = SamplerChain(model)
    _add_penalties(chain, s)
    seed = s.seed if s.seed is not None else secrets.randbits(32)
    seed &= 0xFFFFFFFF
    temperature = s.temperature or 0.0
    if temperature <= 0:
        chain.add("greedy")
        return chain
    if s.mirostat:
        chain.add("temp", temperature)
        tau, eta = s.mirostat_tau or 0.0, s.mirostat_eta or 0.0
        if s.mirostat == 1:
            chain.add("mirostat", model.n_vocab, seed, tau, eta, 100)
        else:
            chain.add("mirostat_v2", seed, tau, eta)
        return chain
    _add_truncation(chain, s, seed)
    chain.add("temp", temperature)
    chain.add("dist", seed)
    return chain


def _add_penalties(chain: SamplerChain, s: Sampling) -> None:
    if s.logit_bias:
        chain.add_logit_bias(s.logit_bias)
    repeat, frequency, presence = s.repeat_penalty, s.frequency_penalty, s.presence_penalty
    if s.repeat_last_n and (repeat != 1.0 or frequency or presence):
        last_n = 1 << 20 if s.repeat_last_n < 0 else s.repeat_last_n
        chain.add_penalties(last_n, repeat or 1.0, frequency or 0.0, presence or 0.0)
    if s.dry_multiplier:
        last_n = 1 << 20 if (s.dry_last_n or 0) < 0 else s.dry_last_n or 0
        chain.add_dry(s.dry_multiplier, s.dry_base or 0.0, s.dry_allowed_length or 0, last_n)


def _add_truncation(chain: SamplerChain, s: Sampling, seed: int) -> None:
    if s.top_n_sigma is not None and s.top_n_sigma > 0:
        chain.add("top_n_sigma", s.top_n_sigma)
    if s.top_k is not None and s.top_k > 0:
        chain.add("top_k", s.top_k)
    for name, value in (("typical", s.typical_p), ("top_p", s.top_p)):
        if value is not None and value < 1.0:
            chain.add(name, value, 1)
    if s.min_p is not None and s.min_p > 0:
        chain.add("min_p", s.min_p, 1)
    if s.xtc_probability:
        chain.add("xtc", s.xtc_probability, s.xtc_threshold or 0.0, 1, seed)
