"""A flag that the terminal sets and the engine polls."""

from threading import Event as _Flag


class Cancel:
    """Set once, from any thread or signal handler; read between tokens and inside a prefill."""

    def __init__(self) -> None:
        self._flag = _Flag()

    def set(self) -> None:
        """Ask the turn to stop; the partial reply is kept."""
        self._flag.set()

    def __bool__(self) -> bool:
        return self._flag.is_set()
