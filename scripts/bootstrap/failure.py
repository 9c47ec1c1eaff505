"""The one error of the set-up: what happened, and what to do about it."""

from __future__ import annotations


class SetupError(Exception):
    """The set-up cannot go on; the text is one line for the user."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}; {remedy}" if remedy else what)
