"""The record decides: what was evaluated once is not evaluated again."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatcli.core.message import Message, Text, assistant, user
from chatcli.core.ports import Exchange
from chatcli.core.session import TokenRecord
from chatcli.engine.align import plan, recorded
from chatcli.engine.builtin import BUILTIN
from tests.engine import templates
from tests.engine.chat import FIRST_WORD, STABLE, Chat, vocabulary


@pytest.mark.parametrize("spm", [False, True])
@pytest.mark.parametrize("name", STABLE)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_growing_chat_keeps_everything(name: str, spm: bool, data: st.DataObject) -> None:
    """Whatever people type and models say, cut anywhere, every id is evaluated once."""
    chat = Chat(STABLE[name], vocabulary(spm=spm), data.draw(st.sampled_from(["", "Be kind."])))
    asked = st.sampled_from(
        ["Why?", " a  b\n", "/x", "\n\n", "<|im_end|>", "é👩", "x<think>y", "a b"]
    )
    ids = st.lists(st.integers(0, 255) | st.integers(FIRST_WORD, FIRST_WORD + 5), max_size=6)
    for _ in range(4):
        question = user(data.draw(asked))
        made = chat.plan(question)
        assert made.kept == chat.context
        assert not made.rewritten
        assert made.keep_of_last == len(made.kept)
        said = tuple(data.draw(ids))
        text = chat.words.text(said)
        reply = Message("assistant", (Text(text),))
        chat.history += (Exchange((question,), reply, made.record(said, 0)),)
        assert chat.context == made.ids + said


@given(
    questions=st.lists(st.text("ab \n<|im_end>", min_size=1, max_size=12), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
@settings(deadline=None)
def test_the_context_reads_as_the_template_writes_it(questions: list[str], seed: int) -> None:
    """Decoded, it is the rendering with the replies as they were said."""
    chat = Chat(templates.CHATML, vocabulary(bos=False))
    draw = random.Random(seed)
    messages: list[dict[str, object]] = [{"role": "system", "content": "Be kind."}]
    for question in questions:
        made = chat.plan(user(question))
        messages.append({"role": "user", "content": question})
        assert chat.text(made) == chat.template.render(messages)
        said = [draw.randrange(32, 127) for _ in range(draw.randrange(5))]
        chat.add(made, (user(question),), said)
        messages.append({"role": "assistant", "content": chat.words.text(tuple(said))})


def test_stripped_reasoning_is_evaluated_around() -> None:
    """The answer's own ids follow the header again; only the last reply is touched."""
    chat = Chat(templates.STRIPPING, vocabulary(bos=False))
    first = chat.turn("Why?", "<think>\nhm\n</think>\n\nSo.")
    assert chat.history[0].reply == assistant("So.", "hm")
    made = chat.turn("And?", "<think>\nhm\n</think>\n\nNo.")
    assert made.rewritten
    assert made.kept == first.ids
    assert chat.text(made).endswith(
        "assistant\nSo.<|im_end|>\n<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\n"
    )
    third = chat.plan(user("Well?"))
    assert third.kept == made.ids
    assert chat.history[1].record is not None
    assert chat.history[1].record.keep == len(first.ids)


def test_kept_reasoning_stays_as_it_was_said() -> None:
    """However the model pads its thoughts, its own ids stand."""
    chat = Chat(templates.THINKING, vocabulary(bos=False))
    for said in ("\n\nhm \n</think>\nSo.", "</think>Fine.", "hm</think>\n\n\n\nNo."):
        made = chat.turn("Why?", said)
        assert made.starts_in_thought is not None
        assert made.kept == chat.context[: len(made.kept)]
        assert not made.rewritten
    assert chat.plan(user("?")).kept == chat.context


def test_a_block_that_was_cut_is_closed() -> None:
    """A reply cancelled while it thought does not leave the next question in its thoughts."""
    chat = Chat(templates.THINKING, vocabulary(bos=False))
    chat.turn("Why?", "hm, well")
    made = chat.plan(user("And?"))
    assert made.kept == chat.context
    assert chat.words.text(made.fresh).startswith(
        "\n</think>\n\n<|im_end|>\n<|im_start|>user\nAnd?"
    )


def test_an_empty_block_is_neither_added_nor_taken_away() -> None:
    """A prompt that says "do not think" with an empty block stays what it was."""
    chat = Chat(templates.STRIPPING, vocabulary(bos=False))
    for answer in ("So.", "<think>\n\n</think>\n\nNo."):
        before = chat.context
        assert chat.turn("Why?", answer, thinking=False).kept == before
    assert chat.plan(user("?"), thinking=False).kept == chat.context


def test_reasoning_after_the_last_question_only() -> None:
    """The rewriting begins behind the header of the last reply."""
    chat = Chat(templates.LATE_THINKING, vocabulary(bos=False))
    first = chat.turn("Why?", "<think>\nhm\n</think>\n\nSo.")
    made = chat.plan(user("And?"))
    assert (made.kept, made.rewritten) == (first.ids, True)


def test_deepseek_drops_the_block_that_its_prompt_opened() -> None:
    """Kept is what stands before the block; an answer that names the marker stays whole."""
    chat = Chat(templates.DEEPSEEK, vocabulary())
    first = chat.turn("Why?", "hm\n</think>\n\nUse </think> so.")
    made = chat.plan(user("And?"))
    assert chat.words.text(made.kept).endswith("<|Assistant|>")
    assert len(made.kept) == len(first.ids) - 2
    assert chat.words.text(made.fresh).startswith("Use </think> so.<|end|><|User|>And?")


def test_harmony_keeps_a_reply_without_analysis() -> None:
    """And drops the analysis of one that has it, as its template does."""
    chat = Chat(templates.HARMONY, vocabulary(bos=False))
    chat.turn("Why?", "<|channel|>final<|message|>So.")
    assert not chat.plan(user("And?")).rewritten
    made = chat.turn(
        "And?",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>No.",
    )
    after = chat.plan(user("Well?"))
    assert after.rewritten
    assert after.kept == made.ids + tuple(chat.words.tokenize("<|channel|>", special=True))
    assert chat.words.text(after.fresh).startswith("final<|message|>No.<|end|>")


def test_the_first_token_comes_once() -> None:
    """Whether the template writes it or the vocabulary wants it, or both."""
    for source in (templates.CHATML, BUILTIN["llama3"]):
        for add in (False, True):
            chat = Chat(source, vocabulary(bos=add))
            writes = source is not templates.CHATML
            for _ in range(2):
                made = chat.turn("Hi", "Hello")
                assert made.ids.count(chat.words.bos or -1) == int(writes or add)


def test_a_changed_system_text_keeps_what_comes_before_it() -> None:
    """And the replies' own ids are evaluated again, not tokenised again."""
    chat = Chat(templates.CHATML, vocabulary(bos=False))
    odd = list(b"Hello")  # byte tokens: nobody would tokenise it so
    chat.add(chat.plan(user("Hi")), (user("Hi"),), odd)
    chat.system = "Be quick."
    made = chat.plan(user("And?"))
    assert made.rewritten
    assert chat.words.text(made.kept) == "<|im_start|>system\nBe"
    at = made.fresh.index(odd[0])
    assert made.fresh[at : at + 5] == tuple(odd)


def test_a_system_text_that_grows_is_cut_at_words() -> None:
    """The segment is tokenised as a whole, so that no word is left in halves."""
    chat = Chat(templates.CHATML, vocabulary(bos=False), "Be kin")
    chat.turn("Hi", "Hello")
    chat.system = "Be kind"
    made = chat.plan(user("And?"))
    assert chat.words.text(made.kept) == "<|im_start|>system\nBe"
    assert chat.words.text(made.fresh[:1]) == " kind"


def test_turns_without_a_record_are_tokenised_once() -> None:
    """A model that joins a chat has a record from then on."""
    chat = Chat(templates.CHATML, vocabulary(bos=False))
    chat.history = (Exchange((user("Hi"),), assistant("\nHello \n"), None),)
    made = chat.turn("And?", "Yes")
    assert "assistant\nHello<|im_end|>" in chat.text(made)
    assert made.kept == ()
    assert not made.rewritten
    assert chat.plan(user("Well?")).kept == chat.context


def test_a_history_that_lost_its_beginning_is_evaluated_again() -> None:
    """Turns that were left out leave no prefix; the replies' ids are still used."""
    chat = Chat(templates.CHATML, vocabulary(bos=False))
    for _ in range(3):
        chat.turn("Hi", "Hello")
    chat.history = chat.history[1:]
    assert chat.context == ()
    made = chat.turn("And?", "Yes")
    assert (made.kept, made.keep_of_last, made.rewritten) == ((), 0, False)
    assert chat.text(made).count("Hello") == 2
    assert chat.plan(user("Well?")).kept == chat.context


def test_an_undone_turn_leaves_no_trace() -> None:
    """Another question after the same parent keeps the parent's context."""
    chat = Chat(templates.CHATML, vocabulary(bos=False))
    chat.turn("Hi", "Hello")
    before = chat.context
    branch = chat.history
    chat.turn("And?", "Yes")
    chat.history = branch
    assert chat.plan(user("Other?")).kept == before


class TestResume:
    """Going on with a reply."""

    def test_the_context_ends_behind_the_reply(self) -> None:
        """Everything is kept, and the record of the whole reply joins old and new."""
        chat = Chat(templates.STRIPPING, vocabulary(bos=False))
        chat.turn("Hi", "Hello")
        chat.turn("Why?", "<think>\nhm\n</think>\n\nBecause it")
        *before, last = chat.history
        chat.history = tuple(before)
        made = plan(chat.template, chat.words, chat.prompt(*last.asked, resume=last))
        assert last.record is not None
        assert (made.kept, made.fresh, made.rewritten) == (recorded((*before, last)), (), False)
        assert chat.text(made).endswith("\n\nBecause it")
        assert (made.resumed, made.markers, made.starts_in_thought) == (last.record.reply, (), None)
        more = chat.words.tokenize(" is so.", special=False)
        record = made.record(more, 0)
        assert record == TokenRecord(
            last.record.keep,
            last.record.prompt,
            last.record.reply + tuple(more),
            last.record.thought,
        )

    @pytest.mark.parametrize("source", [templates.THINKING, templates.STRIPPING])
    def test_a_thought_goes_on(self, source: str) -> None:
        """A reply that was cut while it thought is still thinking."""
        chat = Chat(source, vocabulary(bos=False))
        chat.turn("Why?", "<think>\nhm, well" if source is templates.STRIPPING else "hm, well")
        last = chat.history[0]
        chat.history = chat.history[:0]
        made = plan(chat.template, chat.words, chat.prompt(*last.asked, resume=last))
        assert made.starts_in_thought is not None
        more = chat.words.tokenize(" yes</think>So", special=True)
        chat.add(made, last.asked, more)
        assert last.record is not None
        record = chat.history[0].record
        assert record is not None
        assert record.reply == last.record.reply + tuple(more)
        assert record.thought == len(record.reply) - 1
        assert chat.history[0].reply == assistant("So", " yes")

    @pytest.mark.parametrize("spm", [False, True])
    def test_a_reply_of_another_model_goes_on_as_text(self, spm: bool) -> None:
        """Its words are tokenised behind the header, without a space of their own."""
        chat = Chat(BUILTIN["alpaca"], vocabulary(spm=spm))
        last = Exchange((user("Why?"),), assistant("Because it"), None)
        made = plan(chat.template, chat.words, chat.prompt(*last.asked, resume=last))
        assert chat.text(made).endswith("### Response:\nBecause it")
        assert chat.words.text(made.record([65], 0).reply) == "Because itA"

    def test_a_thought_of_another_model_goes_on_where_the_prompt_opens_one(self) -> None:
        """Else there is no place for it, and the reply begins anew."""
        last = Exchange((user("Why?"),), assistant("", "hm"), None)
        chat = Chat(templates.THINKING, vocabulary(bos=False))
        made = plan(chat.template, chat.words, chat.prompt(*last.asked, resume=last))
        assert chat.text(made).endswith("<think>\nhm")
        assert made.starts_in_thought is not None
        chat = Chat(templates.CHATML, vocabulary(bos=False))
        made = plan(chat.template, chat.words, chat.prompt(*last.asked, resume=last))
        assert chat.text(made).endswith("assistant\n")


def test_sentencepiece_gets_no_spurious_spaces() -> None:
    """Words that go on have none in front; a content takes the space before it along."""
    chat = Chat("{{ 'User: ' + messages[0].content + '\\n\\nBot:' }}", vocabulary(spm=True), "")
    made = chat.plan(user("Hello"))
    assert [chat.words.text((i,)) for i in made.ids][:4] == ["<s>", " User", ":", " Hello"]
    assert chat.text(made) == "<s> User: Hello\n\nBot:"


def test_half_of_a_surrogate_pair_is_kept_like_any_text() -> None:
    """It is read as "?": the next turn finds it in the record instead of failing."""
    chat = Chat(BUILTIN["chatml"], vocabulary())
    chat.turn("a \udcff b", "yes")
    made = chat.plan(user("and \ud800?"))
    assert made.kept == chat.context
