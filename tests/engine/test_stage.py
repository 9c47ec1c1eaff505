"""What was said goes through the template as stand-ins."""

from chatcli.core.message import assistant, user
from chatcli.core.ports import Exchange, Prompt
from chatcli.core.session import TokenRecord
from chatcli.engine.segment import Slot, Words
from chatcli.engine.stage import Stage
from chatcli.engine.template import ChatTemplate
from tests.engine import templates
from tests.engine.chat import vocabulary


def test_the_parts_of_a_rendering() -> None:
    """The template's words, contents as text, and replies as slots with their exchange."""
    record = TokenRecord(keep=0, prompt=(1,), reply=(2, 3), thought=1)
    exchange = Exchange((user("Hi"),), assistant(" So. ", "hm"), record)
    prompt = Prompt(asked=(user("And?"),), history=(exchange,))
    template = ChatTemplate(templates.THINKING, bos="", eos="")
    parts = Stage(template, vocabulary(), prompt, None).parts()
    assert parts == [
        Words("<|im_start|>user\n", special=True),
        Words("Hi", special=False),
        Words("<|im_end|>\n<|im_start|>assistant\n<think>\n", special=True),
        Slot("thought", "hm", exchange),
        Words("\n</think>\n\n", special=True),
        Slot("answer", "So.", exchange),
        Words("<|im_end|>\n<|im_start|>user\n", special=True),
        Words("And?", special=False),
        Words("<|im_end|>\n<|im_start|>assistant\n<think>\n", special=True),
    ]


def test_a_template_that_measures_contents_gets_the_real_ones() -> None:
    """Its words are then cut where a content would have become a control token."""
    template = ChatTemplate(templates.CURIOUS, bos="", eos="")
    parts = Stage(template, vocabulary(), Prompt(asked=(user("/a<|end|>"),)), None).parts()
    assert parts == [
        Words("<|user|>(command 10)/a<", special=True),
        Words("|end|><|end|><|assistant|>", special=True),
    ]
