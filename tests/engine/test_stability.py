"""The probe tells templates that keep their prefix from those that do not."""

import pytest

from chatcli.core.errors import TemplateError
from chatcli.engine.stability import stability
from chatcli.engine.template import ChatTemplate
from tests.engine import templates
from tests.engine.chat import STABLE


@pytest.mark.parametrize("name", STABLE)
def test_plain_replies_are_kept(name: str) -> None:
    """Every template of the usual kinds keeps a chat without reasoning."""
    outcome = stability(ChatTemplate(STABLE[name], bos="<s>", eos="</s>"))
    assert outcome.plain.is_stable
    assert outcome.plain.held == outcome.plain.kept > 0


@pytest.mark.parametrize(
    ("source", "is_stable"),
    [
        (templates.STRIPPING, False),
        (templates.LATE_THINKING, False),
        (templates.DEEPSEEK, False),
        (templates.HARMONY, False),
        (templates.THINKING, True),
    ],
)
def test_stripped_reasoning_costs_the_last_turn(source: str, is_stable: bool) -> None:
    """Never more: what was rewritten once is in the record as it was rewritten."""
    outcome = stability(ChatTemplate(source, bos="<s>", eos="</s>"))
    assert outcome.plain.is_stable
    assert outcome.thinking.is_stable == is_stable
    assert outcome.thinking.within_last_turn
    assert outcome.thinking.kept > 0.5 * outcome.thinking.held


def test_a_template_that_counts_the_turns_keeps_nothing() -> None:
    """What changes at the front costs everything behind it."""
    source = "{{ messages | length }}" + templates.CHATML
    outcome = stability(ChatTemplate(source, bos="", eos=""))
    assert not outcome.plain.is_stable
    assert not outcome.plain.within_last_turn


def test_a_template_that_cannot_render_says_so() -> None:
    """The probe hides nothing."""
    with pytest.raises(TemplateError):
        stability(ChatTemplate("{{ raise_exception('no') }}", bos="", eos=""))
