"""Templates render as their authors saw them render, and cannot do harm."""

import pytest

from chatcli.core.errors import TemplateError
from chatcli.engine.builtin import BUILTIN
from chatcli.engine.template import ChatTemplate
from tests.engine import templates

CHAT: list[dict[str, object]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": "Bye"},
]


def render(source: str, *messages: dict[str, object]) -> str:
    """Render with the usual tokens."""
    return ChatTemplate(source, bos="<s>", eos="</s>").render(messages or CHAT)


def test_white_space_is_trimmed_around_blocks() -> None:
    """As transformers sets `trim_blocks` and `lstrip_blocks`."""
    assert render("  {% if true %}\n  a\n  {% endif %}\nb") == "  a\nb"


def test_json_is_written_as_transformers_does() -> None:
    """Nothing is escaped for HTML, keys keep their order, and the options work."""
    source = "{{ messages[0].x | tojson }} {{ messages[0].x | tojson(indent=1, sort_keys=true) }}"
    text = render(source, {"role": "user", "x": {"b": "<é&'>", "a": None}})
    assert text == '{"b": "<é&\'>", "a": null} {\n "a": null,\n "b": "<é&\'>"\n}'
    source = "{{ messages[0].x | tojson(ensure_ascii=true, separators=(',', ':')) }}"
    assert render(source, {"role": "user", "x": ["é", 1]}) == '["\\u00e9",1]'


def test_loop_controls_and_namespaces_work() -> None:
    """Templates break out of loops and count across them."""
    source = (
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% if loop.index > 2 %}{% break %}"
        "{% endif %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}"
    )
    assert render(source) == "2"


def test_the_generation_tag_is_its_content() -> None:
    """It marks training data, and changes nothing here; names set in it are seen behind it."""
    assert render("{% generation %}{% set x = 1 %}a{% endgeneration %}{{ x }}") == "a1"


def test_the_date_is_the_sessions() -> None:
    """The clock is frozen, so that the prefix is the same tomorrow."""
    template = ChatTemplate(templates.DATED, bos="<s>", eos="")
    noon = 1_700_049_600.0  # 15 Nov 2023, 12:00 UTC
    assert template.render(CHAT, clock=noon).startswith("<s><|system|>Today: 15 Nov 2023\nBe kind.")


def test_thinking_is_said_only_when_asked() -> None:
    """A template that asks whether it is defined sees nothing unless the caller decides."""
    template = ChatTemplate(templates.STRIPPING, bos="", eos="")
    assert template.render(CHAT).endswith("assistant\n")
    assert template.render(CHAT, thinking=False).endswith("<think>\n\n</think>\n\n")
    assert template.render(CHAT, generation_prompt=False).endswith("Bye<|im_end|>\n")


def test_a_template_without_a_system_role_gets_the_text_in_the_first_question() -> None:
    """And remembers that it was necessary."""
    template = ChatTemplate(BUILTIN["gemma"], bos="<s>", eos="")
    assert "user\nBe kind.\n\nHello<end_of_turn>" in template.render(CHAT)
    assert template.fallbacks == ("system",)
    assert "user\nHello<end_of_turn>" in template.render(CHAT[1:])


def test_neighbours_are_merged_where_roles_must_alternate() -> None:
    """A question after a cancelled one is still a question."""
    template = ChatTemplate(templates.STRICT, bos="<s>", eos="</s>")
    text = template.render([*CHAT, {"role": "user", "content": "Now"}])
    assert text == "<s>[INST] Be kind.\n\nHello [/INST] Hi.</s>[INST] Bye\n\nNow [/INST]"
    assert template.fallbacks == ("system", "alternate")


def test_a_system_text_without_a_question_becomes_one() -> None:
    """Nothing is dropped."""
    assert "user\nBe kind.<end_of_turn>" in render(BUILTIN["gemma"], CHAT[0])


def test_the_plain_form_comes_first() -> None:
    """A template that accepts the conversation is given it unchanged."""
    template = ChatTemplate(templates.CHATML, bos="", eos="")
    template.render([*CHAT, CHAT[-1]])
    assert template.fallbacks == ()


def test_tool_arguments_become_text_where_a_template_wants_text() -> None:
    """It is found out by trying."""
    call = {"function": {"name": "f", "arguments": {"x": 1}}}
    source = "{{ '(' + messages[0].tool_calls[0].function.arguments + ')' }}"
    message: dict[str, object] = {"role": "assistant", "content": "", "tool_calls": [call]}
    assert render(source, message) == '({"x": 1})'


def test_a_template_that_iterates_missing_tools_gets_none_to_iterate() -> None:
    """transformers hands `None` to templates; a few do not expect it."""
    template = ChatTemplate("{% for t in tools %}x{% endfor %}ok", bos="", eos="")
    assert (template.render(CHAT), template.fallbacks) == ("ok", ("tools",))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{% if %}", "line 2: Expected an expression"),
        ("a\n\n{{ raise_exception('I refuse') }}", "line 3: I refuse"),
        ("a\n{{ 1 + 'x' }}", "line 2: unsupported operand"),
        ("{{ nothing.at.all }}", "line 1: 'nothing' is undefined"),
        ("{{ messages[0].content.x() }}", "line 1: 'str object' has no attribute 'x'"),
        ("{% include 'other' %}", "no loader for this environment"),
        ("{{ 1 // 0 }}", "line 1"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion"),
    ],
)
def test_a_failure_names_its_line(source: str, message: str) -> None:
    """The user learns where, why, and what to do."""
    with pytest.raises(TemplateError, match="--template") as caught:
        render(source)
    assert message in caught.value.message


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 'x' * 1000000000 }}",
        "{{ 10 ** 100000000 }}",
        "{{ range(10 ** 10) }}",
    ],
)
def test_a_hostile_template_is_stopped(source: str) -> None:
    """It neither reaches Python nor eats time or memory."""
    with pytest.raises(TemplateError):
        render(source)
