"""Which models to offer on a machine that has none: a pure decision."""

from collections.abc import Iterable
from dataclasses import dataclass

from chatcli.catalogue.entries import Entry, embedded_entry

_SPARE_BYTES = 10**9
"""Free disk that must remain after the offered model is here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What matters of a machine: its memory, the free disk, whether the hub answers."""

    memory_bytes: int
    free_bytes: int
    hub_reachable: bool


@dataclass(frozen=True, slots=True)
class Offer:
    """The embedded model, and the best that fits; None: there is nothing to choose."""

    embedded: Entry
    better: Entry | None


def make_offer(entries: Iterable[Entry], machine: Machine) -> Offer:
    """Return what to offer: of the models that fit memory and disk, the highest in rank.

    Raises:
        ConfigError: the catalogue has no embedded model.
    """
    known = list(entries)
    fitting = [
        entry
        for entry in known
        if entry.offer
        and machine.hub_reachable
        and entry.memory_bytes <= machine.memory_bytes
        and entry.n_bytes + _SPARE_BYTES <= machine.free_bytes
    ]
    best = max(fitting, key=lambda entry: entry.offer, default=None)
    return Offer(embedded_entry(known), best)
