"""The word that was probably meant: for keys, commands and model names in error messages."""

from collections.abc import Iterable


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice most like `word`, letter case aside; None when none is like it.

    Likeness is difflib's ratio, with its customary cutoff of 0.6. Equal likeness: the first
    choice wins.
    """
    # Only an error needs it, so only an error pays for the import.
    from difflib import get_close_matches

    by_folded: dict[str, str] = {}
    for choice in choices:
        by_folded.setdefault(choice.casefold(), choice)
    found = get_close_matches(word.casefold(), by_folded, n=1)
    return by_folded[found[0]] if found else None
