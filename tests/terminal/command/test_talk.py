"""The tree of turns: asking again, going back, copying."""

import pytest

from chatcli.core.message import Document
from chatcli.orchestrator.conversation import Style
from tests.terminal.conftest import Make, OneBroken


def test_a_message_is_answered_on_stdout(table: Make) -> None:
    """Nothing else stands there."""
    chat = table([["Hello", " there"]])
    assert chat.both("hi") == ("Hello there\n", "")


def test_an_empty_line_does_nothing(table: Make) -> None:
    """Nor does one of spaces."""
    assert table().both("   ") == ("", "")


def test_regen_asks_again_and_keeps_the_old_reply(table: Make) -> None:
    """Both replies are in the tree."""
    chat = table([["one"], ["two"]])
    chat("a")
    assert chat("/regen") == "two\n"
    assert [turn.reply.text for turn in chat.chat.conversation.turns()] == ["one", "two"]


def test_retry_with_a_model_stays_with_it_and_says_so(table: Make) -> None:
    """The old one is named."""
    chat = table([["one"], ["two"]])
    chat("a")
    out, err = chat.both("/retry other")
    assert out == "two\n"
    assert "From here on with other; /model scripted goes back" in err
    assert chat.chat.session.model == "other"


@pytest.mark.parametrize("line", ["/regen", "/continue", "/edit", "/fork", "/stats", "/tree"])
def test_without_a_turn_there_is_a_plain_error(line: str, table: Make) -> None:
    """It says to ask something first, and waits for no model."""
    err = table(engine=OneBroken(model="broken")).err(line)
    assert err == "error: nothing has been said in this chat yet. Ask something first\n"


def test_continue_goes_on_behind_a_cut_reply(table: Make) -> None:
    """Only what is new is shown; a reply that reached its limit says how to go on."""
    chat = table([["one", " two", " three"], [" three"]], style=Style(max_tokens=2))
    out, err = chat.both("a")
    assert out == "one two\n"
    assert "/continue goes on" in err
    assert chat("/continue").strip() == "three"
    assert chat.chat.conversation.current().reply.text == "one two three"


def test_undo_says_what_and_how_to_get_back(table: Make) -> None:
    """The turn stays in the tree."""
    chat = table()
    chat("first")
    chat("second")
    err = chat.err("/undo")
    assert "Undone: second" in err
    assert "after question 1" in err
    gone = chat.chat.conversation.turns()[1].id
    assert f"/go {gone[:8]}" in err
    chat.err(f"/go {gone}")
    assert chat.chat.conversation.current().id == gone
    assert "the chat is empty again" in chat.err("/undo 2")
    assert "there is nothing to undo" in chat.err("/undo")


@pytest.mark.parametrize("argument", ["x", "0", "-1", "1.5"])
def test_undo_wants_a_number(argument: str, table: Make) -> None:
    """Anything else changes nothing."""
    chat = table()
    chat("first")
    assert "wants a number" in chat.err(f"/undo {argument}")
    assert len(chat.chat.conversation.path()) == 1


def test_edit_puts_the_question_into_the_line_and_asks_in_its_place(table: Make) -> None:
    """The old question stays in the tree, its files go along."""
    chat = table([["one"], ["two"], ["three"]])
    chat.chat.documents.append(Document("f.txt", "text"))
    chat("first")
    chat("second")
    chat("/edit 1")
    assert chat.chat.prefill == "first"
    assert chat("better") == "three\n"
    conversation = chat.chat.conversation
    assert [turn.asked[0].text for turn in conversation.path()] == ["better"]
    assert conversation.current().asked[0].parts[0] == Document("f.txt", "text")
    assert len(conversation.turns()) == 3
    chat("next")
    assert len(conversation.path()) == 2


def test_fork_copies_the_path(table: Make) -> None:
    """The original is named and left alone."""
    chat = table()
    chat("first")
    chat("second")
    left = chat.chat.session.id
    err = chat.err("/fork 1")
    assert f"the original is {left}" in err
    assert [turn.asked[0].text for turn in chat.chat.conversation.path()] == ["first"]
    assert len(chat.store.turns(left)) == 2


def test_tree_marks_where_we_are(table: Make) -> None:
    """All branches are drawn."""
    chat = table([["one"], ["two"]])
    chat("first")
    chat("/regen")
    lines = chat("/tree").splitlines()
    assert len(lines) == 2
    assert [">" in line for line in lines] == [False, True]
    assert "no turn matches 'zzz'" in chat.err("/go zzz")
    assert "/go wants a turn" in chat.err("/go")


@pytest.mark.parametrize("line", ["/undo", "/go", "/edit", "/fork", "/copy"])
def test_a_number_of_thousands_of_digits_is_no_turn(line: str, table: Make) -> None:
    """Python itself refuses to read one; the user is told what would do."""
    chat = table([["one"]])
    chat("a")
    assert chat.err(f"{line} {'9' * 5000}").startswith("error: ")
    assert len(chat.chat.conversation.path()) == 1
