"""Parameters reach llama.cpp's samplers."""

from collections import Counter
from pathlib import Path

import pytest

from chatcli.core.cancel import Cancel
from chatcli.core.sampling import Sampling
from chatcli.engine.binding import Model
from chatcli.engine.cells import Cells
from chatcli.engine.prefill import prefill
from chatcli.engine.sampler import effective, make_chain, model_sampling
from tests.tiny_gguf import write_tiny


def _draw(model: Model, cells: Cells, sampling: Sampling, n: int = 1) -> list[int]:
    ids = model.tokenize("hello", special=False)
    cells.make_room(64)
    cells.take(ids)
    list(prefill(cells, ids, Cancel()))
    chain = make_chain(model, sampling)
    drawn = [chain.sample(cells.context) for _ in range(n)]
    chain.close()
    return drawn


def test_temperature_zero_takes_the_most_likely(tiny: Model, cells: Cells) -> None:
    """Greedy is the arg max of the logits."""
    drawn = _draw(tiny, cells, Sampling(temperature=0.0), 3)
    best = int(cells.context.logits(tiny.n_vocab).argmax())
    assert drawn == [best] * 3


def test_a_seed_repeats_and_seeds_differ(tiny: Model, cells: Cells) -> None:
    """The same seed draws the same ids."""
    hot = {"temperature": 5.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    first = _draw(tiny, cells, Sampling(seed=3, **hot), 12)  # type: ignore[arg-type]
    assert _draw(tiny, cells, Sampling(seed=3, **hot), 12) == first  # type: ignore[arg-type]
    assert _draw(tiny, cells, Sampling(seed=4, **hot), 12) != first  # type: ignore[arg-type]
    assert _draw(tiny, cells, Sampling(**hot), 12) != _draw(tiny, cells, Sampling(**hot), 12)  # type: ignore[arg-type]


def test_top_k_limits_the_choice(tiny: Model, cells: Cells) -> None:
    """Only the k most likely ids are drawn."""
    drawn = set(
        _draw(tiny, cells, Sampling(seed=1, temperature=9.0, top_k=3, top_p=1.0, min_p=0.0), 60)
    )
    ranked = cells.context.logits(tiny.n_vocab).argsort()[::-1][:3]
    assert drawn == {int(token) for token in ranked}


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(mirostat=1, seed=1),
        Sampling(mirostat=2, seed=1),
        Sampling(typical_p=0.5, seed=1),
        Sampling(top_n_sigma=1.0, seed=1),
        Sampling(xtc_probability=1.0, xtc_threshold=0.01, seed=1, temperature=3.0),
        Sampling(dry_multiplier=1.0, seed=1),
    ],
)
def test_every_sampler_draws_a_token(tiny: Model, cells: Cells, sampling: Sampling) -> None:
    """Each can be built and asked."""
    assert all(0 <= token < tiny.n_vocab for token in _draw(tiny, cells, sampling, 5))


def test_a_penalty_moves_the_choice_away(tiny: Model, cells: Cells) -> None:
    """With a strong presence penalty greedy does not repeat itself."""
    drawn = _draw(tiny, cells, Sampling(temperature=0.0, presence_penalty=50.0), 6)
    assert Counter(drawn).most_common(1)[0][1] == 1


def test_a_logit_bias_decides(tiny: Model, cells: Cells) -> None:
    """A large bias makes an id certain."""
    sampling = Sampling(temperature=0.0, logit_bias=((77, 1000.0),))
    assert _draw(tiny, cells, sampling) == [77]


def test_the_models_own_defaults_stand_between_user_and_documented_ones(tmp_path: Path) -> None:
    """GGUF sampling metadata fills what the user leaves open."""
    metadata = {"general.sampling.temp": 0.25, "general.sampling.top_k": 7}
    model = Model(write_tiny(tmp_path / "m.gguf", metadata=metadata))
    assert model_sampling(model) == Sampling(temperature=0.25, top_k=7)
    filled = effective(model, Sampling(top_k=3))
    assert (filled.temperature, filled.top_k, filled.top_p) == (0.25, 3, 0.95)
    model.close()


def test_a_default_that_is_no_number_is_passed_over(tmp_path: Path) -> None:
    """Infinity and NaN stand in a file that is damaged or made to harm."""
    metadata = {"general.sampling.temp": float("nan"), "general.sampling.top_k": float("inf")}
    model = Model(write_tiny(tmp_path / "m.gguf", metadata=metadata))
    assert model_sampling(model) == Sampling()
    model.close()
