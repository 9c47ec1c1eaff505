"""What is measured and how much: one model, its settings, and the effort to spend."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from chatcli.bench.rig import Rig
from chatcli.settings import Settings


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: pairs, and tokens of each window."""

    pairs: int = 7
    n_prefill: int = 512
    n_decode: int = 128
    depths: tuple[int, ...] = (0, 2000)


QUICK = Effort(pairs=3, n_prefill=256, n_decode=32, depths=(0, 512))
"""For a look, not for a claim."""


@dataclass(slots=True)
class Subject:
    """One model under measurement, loaded at its first use. `say` gets the progress.

    `raw_found` keeps what the bare loop reached beside the engine, in tokens/s, by case and
    depth, so that it is not measured twice.
    """

    name: str
    path: Path
    settings: Settings
    effort: Effort
    say: Callable[[str], None]
    raw_found: dict[tuple[str, int], tuple[float, ...]] = field(default_factory=dict)
    _rig: Rig | None = None

    @property
    def rig(self) -> Rig:
        """The loaded model."""
        if self._rig is None:
            self.say(f"{self.name}: loading")
            self._rig = Rig(self.name, self.path, self.settings)
        return self._rig

    def close(self) -> None:
        """Free the model, if it was loaded."""
        if self._rig is not None:
            self._rig.close()
            self._rig = None

    def ticker(self, what: str) -> Callable[[int], None]:
        """Return a function that says which run of `what` begins; 0 is the one thrown away."""

        def tick(at: int) -> None:
            count = f"{at}/{self.effort.pairs}" if at else "warming up"
            self.say(f"{self.name}: {what}, {count}")

        return tick
