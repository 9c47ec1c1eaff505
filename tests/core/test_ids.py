"""Ids are told apart by their first characters, and are never taken for something else."""

from hypothesis import given
from hypothesis import strategies as st

from chatcli.core.ids import ALPHABET, id_from, new_id


def test_ids_of_one_moment_differ_at_the_front() -> None:
    """Four characters tell nearly all of a hundred sessions apart, eight tell thousands."""
    assert len({new_id()[:4] for _ in range(100)}) > 95
    assert len({new_id()[:8] for _ in range(5000)}) == 5000


@given(st.binary(min_size=16, max_size=16))
def test_an_id_is_a_word_that_begins_with_a_letter(noise: bytes) -> None:
    """So it is neither a number nor an option, and a safe file name; the same bytes, the same."""
    made = id_from(noise)
    assert len(made) == 16
    assert made[0].isalpha()
    assert set(made) <= set(ALPHABET)
    assert made == id_from(noise)
