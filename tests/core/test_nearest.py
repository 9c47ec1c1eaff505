"""The word that was probably meant."""

from hypothesis import given
from hypothesis import strategies as st

from chatcli.core.nearest import nearest


def test_a_slip_of_the_finger_is_seen_through() -> None:
    """A word with two letters swapped finds its original."""
    assert nearest("temprature", ["top_k", "temperature", "theme"]) == "temperature"


def test_case_does_not_count_and_the_choice_keeps_its_own() -> None:
    """The choice is returned as it is spelled, whatever the case of the word."""
    assert nearest("QWEN3:4B", ["Qwen3:4b", "gemma3"]) == "Qwen3:4b"


def test_nothing_like_it_is_none() -> None:
    """A word that is like no choice gets no suggestion."""
    assert nearest("xyzzy", ["temperature", "model"]) is None
    assert nearest("model", []) is None


@given(st.lists(st.text(min_size=1), min_size=1), st.data())
def test_a_choice_is_nearest_to_itself(choices: list[str], data: st.DataObject) -> None:
    """The nearest to a choice is that choice, but for letter case."""
    word = data.draw(st.sampled_from(choices))
    found = nearest(word, choices)
    assert found is not None
    assert found.casefold() == word.casefold()
