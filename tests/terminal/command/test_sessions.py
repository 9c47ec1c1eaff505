"""Which chat: new, load, list, search, save."""

import pytest

from chatcli.core.sampling import Sampling
from tests.terminal.conftest import Busy, Make


@pytest.mark.parametrize("line", ["/new", "/clear"])
def test_new_starts_a_chat_and_names_the_old_one(line: str, table: Make) -> None:
    """Model, system prompt and sampling stay."""
    chat = table()
    chat("/system Be brief")
    chat("/set temperature 0.1")
    chat("first")
    old = chat.chat.session
    assert f"/load {old.id}" in chat.err(line)
    assert chat.chat.conversation.path() == []
    assert chat.chat.session.system == "Be brief"
    assert chat.chat.session.sampling == Sampling(temperature=0.1)


def test_load_shows_where_the_chat_stands(table: Make) -> None:
    """A header, the last question, and its reply."""
    chat = table([["one"], ["two"]])
    chat("first question")
    chat("/save My chat")
    chat("/new")
    out, err = chat.both("/load my chat")
    assert "My chat · 1 turn · scripted" in err
    assert "> first question" in err
    assert out == "one\n"
    assert "/load wants a chat" in chat.err("/load")
    assert "no session called 'nothing'" in chat.err("/load nothing")


def test_a_busy_chat_offers_a_fork_and_makes_it(table: Make) -> None:
    """The copy has the turns; the busy one is left alone."""
    store = Busy()
    chat = table([["one"]], store=store)
    chat("first")
    busy = chat.chat.session.id
    chat("/new")
    store.busy = busy
    assert "/fork goes on in a copy of it" in chat.err(f"/load {busy}")
    err = chat.err("/fork")
    assert f"the original is {busy}" in err
    assert chat.chat.session.id != busy
    assert [turn.asked[0].text for turn in chat.chat.conversation.path()] == ["first"]


def test_list_shows_chats_and_marks_this_one(table: Make) -> None:
    """Words narrow it down; one-shots are left out."""
    chat = table()
    assert "No chats are kept yet" in chat.err("/list")
    chat("apples are red")
    chat("/new")
    chat("pears are green")
    rows = chat("/list").splitlines()
    assert [row[0] for row in rows] == ["*", " "]
    assert "pears" in rows[0]
    assert len(chat("/list apples").splitlines()) == 1
    assert "/search looks inside" in chat.err("/list plums")


def test_search_finds_what_was_said(table: Make) -> None:
    """Each hit has the id that opens it."""
    chat = table([["the answer is 42"]])
    chat("what is it?")
    assert chat.chat.session.id in chat("/search answer")
    assert "Nothing was found" in chat.err("/search zebra")
    assert "/search wants words" in chat.err("/search")


def test_save_gives_a_title_and_says_that_all_is_kept(table: Make) -> None:
    """Without a title it says so as an error; in a chat that is not kept it says that."""
    chat = table()
    chat("hello")
    assert "kept anyway" in chat.err("/save Greetings")
    assert chat.chat.session.title == "Greetings"
    assert "/save wants a title" in chat.err("/save")
    chat.chat.kept = False
    assert "not kept (--no-log)" in chat.err("/save Greetings")
