import pytest

from chatcli.catalogue.entries import embedded_entry
from chatcli.catalogue.first_run import Machine, make_offer
from chatcli.catalogue.load import load_entries

GB = 10**9


@pytest.mark.parametrize(
    ("memory", "free", "hub", "better"),
    [
        (0.5, 100, True, None),
        (1, 100, True, "qwen2.5-coder:0.5b"),
        (8, 100, True, "qwen3:4b"),
        (16, 100, True, "gpt-oss:20b"),
        (64, 100, True, "qwen3:30b-a3b"),
        (64, 10, True, "qwen3:8b"),
        (64, 1, True, None),
        (64, 100, False, None),
    ],
)
def test_the_best_model_that_fits_is_offered(
    memory: float, free: float, hub: bool, better: str | None
) -> None:
    """Memory, disk and the hub limit the choice; the embedded model is always there."""
    machine = Machine(memory_bytes=int(memory * GB), free_bytes=int(free * GB), hub_reachable=hub)
    offer = make_offer(load_entries(), machine)
    assert offer.embedded == embedded_entry(load_entries())
    assert (offer.better.name if offer.better else None) == better
