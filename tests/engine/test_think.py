"""Reasoning is set apart from the answer, however the reply is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatcli.engine.think import FAMILIES, HARMONY, THINK, Markers, ThinkSplitter, markers_for

COHERE = next(family for family in FAMILIES if family.name == "cohere")


def split(
    pieces: list[str], *markers: Markers, inside: Markers | None = None
) -> tuple[str, str, int | None]:
    """Feed the pieces; return the reasoning, the text, and where the text starts."""
    splitter = ThinkSplitter(markers or (THINK,), inside)
    out = [piece for text in pieces for piece in splitter.feed(text)]
    out += splitter.flush()
    assert all(piece.text for piece in out)
    said = {kind: "".join(p.text for p in out if p.kind == kind) for kind in ("reasoning", "text")}
    assert splitter.consumed == sum(map(len, pieces))
    return said["reasoning"], said["text"], splitter.text_start


@pytest.mark.parametrize(
    ("reply", "reasoning", "text"),
    [
        ("<think>\nwhy\n</think>\n\nanswer", "why", "answer"),
        ("\n <think>why</think> answer\n", "why", " answer\n"),
        ("<think>\n\n</think>\n\nanswer", "", "answer"),
        ("<think>a\n\nb\n</think>\n<think>c</think>d", "a\n\nbc", "d"),
        ("<think>a <think> b</think>c", "a <think> b", "c"),
        ("<think>a</think></think>b</think>", "a", "b</think>"),
        ("<think>never closed\n", "never closed\n", ""),
        ("</think>\n\nanswer", "", "answer"),
        ("The tag <think> opens a block", "", "The tag <think> opens a block"),
        ("  plain", "", "  plain"),
        ("<thin", "", "<thin"),
        ("\n\n", "", "\n\n"),
        ("", "", ""),
    ],
)
def test_a_block_before_the_answer_is_reasoning(reply: str, reasoning: str, text: str) -> None:
    """Markers and the line feeds next to them go; everything else stays as it was said."""
    assert split([reply])[:2] == (reasoning, text)
    assert split(list(reply))[:2] == (reasoning, text)


def test_a_block_that_the_prompt_opened_goes_on() -> None:
    """Templates that end with an opening marker leave only the closing one to the model."""
    assert split(["\nwhy", "</th", "ink>", "\n", "\nyes"], inside=THINK) == ("why", "yes", 14)


def test_harmony_channels() -> None:
    """Analysis and commentary are reasoning; the final channel is the answer."""
    reply = (
        "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>commentary "
        "to=functions.f<|message|>{}<|start|>assistant<|channel|>final<|message|>yes\n<|end|>"
    )
    assert split([reply], HARMONY)[:2] == ("why{}", "yes\n")
    assert split(list(reply), HARMONY)[:2] == ("why{}", "yes\n")


def test_a_header_that_never_ends_is_text() -> None:
    """Nothing is held back for ever."""
    for reply in ("<|channel|>" + "x" * 400, "<|channel|>" + "x" * 400 + "<|message|>"):
        assert split(list(reply), HARMONY)[1] == reply
        assert split([reply], HARMONY)[1] == reply


def test_cohere_response_markers_are_dropped() -> None:
    """They stand around the answer and are not part of it."""
    reply = "<|START_THINKING|>w<|END_THINKING|><|START_RESPONSE|>yes<|END_RESPONSE|>"
    assert split(list(reply), COHERE)[:2] == ("w", "yes")


def test_visible_text_is_held_only_while_it_may_be_a_marker() -> None:
    """The first letter that rules a marker out releases everything."""
    splitter = ThinkSplitter((THINK,))
    assert splitter.feed("<th") == []
    assert [piece.text for piece in splitter.feed("e")] == ["<the"]
    assert splitter.is_plain


@given(data=st.data())
def test_any_cut_gives_the_same_result(data: st.DataObject) -> None:
    """The parts of a reply come out the same in one piece and in many."""
    family = data.draw(st.sampled_from(FAMILIES))
    words = [*family.opening, *family.closing, *family.skipped, *family.ending, family.header]
    words += [family.answer, "\n", " ", "a", "<", "\n\n", "b c"]
    reply = "".join(data.draw(st.lists(st.sampled_from(words), max_size=12)))
    inside = data.draw(st.sampled_from([None, family]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(reply)), max_size=12)))
    pieces = [reply[a:b] for a, b in zip([0, *cuts], [*cuts, len(reply)], strict=True)]
    assert split(pieces, family, inside=inside) == split([reply], family, inside=inside)


def test_markers_are_read_off_the_template() -> None:
    """Only a family that the template names is looked for."""
    assert markers_for("{{ content.split('</think>')[-1] }}") == (THINK,)
    assert markers_for("<|start|>assistant<|channel|>final<|message|>") == (HARMONY,)
    assert [m.name for m in markers_for("[THINK]x[/THINK]")] == ["[THINK]"]
    assert [m.name for m in markers_for("<seed:think>")] == ["<seed:think>"]
    assert markers_for("<|START_THINKING|><|END_THINKING|>") == (COHERE,)
    assert markers_for("<|im_start|>") == ()
