"""The tokenizer doubles keep the protocol's promises, so that tests on them mean something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.engine.segment import Tokenizer
from chatcli.engine.stability import Letters
from tests.engine.chat import vocabulary


@given(text=st.text("ab <|end>/é\n"), special=st.booleans())
@pytest.mark.parametrize("tokenizer", [Letters(), vocabulary()], ids=["letters", "words"])
def test_pieces_spell_the_text(tokenizer: Tokenizer, text: str, special: bool) -> None:
    """Nothing is lost or added."""
    ids = tokenizer.tokenize(text, special=special)
    assert b"".join(map(tokenizer.piece, ids)).decode() == text
    assert special or not any(map(tokenizer.is_control, ids))
