"""How a download tells what it does: callbacks, so that the package prints nothing."""

from collections.abc import Callable
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal["download", "check"]
"""`download`: bytes arrive; `check`: bytes that are here already are read again."""

Progress: TypeAlias = Callable[[int, int, Stage], None]
"""Called with bytes done, bytes in all (0: unknown), and the stage."""

Say: TypeAlias = Callable[[str], None]
"""Called with one line that the user should know."""


def quiet_progress(done_bytes: int, total_bytes: int, stage: Stage) -> None:
    """Show nothing."""


def quiet(line: str) -> None:
    """Say nothing."""


def readable_bytes(n: int) -> str:
    """Return a size as people write it: ``98 MB``, ``4.7 GB``."""
    if n >= 10**9:
        return f"{n / 10**9:.1f} GB"
    return f"{n / 10**6:.0f} MB" if n >= 10**6 else f"{max(1, n // 1000)} kB"
