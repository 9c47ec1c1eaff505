"""Names for sessions and turns: random, so that a few characters tell them apart."""

import os

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32 in lower case: no i, l, o, u, which are misread."""

_LETTERS = ALPHABET[10:]
_LENGTH = 16


def new_id() -> str:
    """Return a new id of 16 characters (79 random bits); its first is a letter.

    Nothing in it tells the time: ids that begin with the time differ only at their end,
    and a prefix of four characters should be enough. Order is kept in columns. The
    letter keeps an id apart from a number and from an option.
    """
    return id_from(os.urandom(_LENGTH))


def id_from(noise: bytes) -> str:
    """Return the id that the first 16 bytes of `noise` spell; the same bytes, the same id."""
    first = _LETTERS[noise[0] % len(_LETTERS)]
    return first + "".join(ALPHABET[byte % 32] for byte in noise[1:_LENGTH])
