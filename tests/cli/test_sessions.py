"""`chatcli sessions`: results on stdout, remarks on stderr, nothing deleted unasked."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from chatcli import paths
from chatcli.cli.sessions import age_s, register
from chatcli.cli.sessions_shared import complete_id
from chatcli.core.errors import (
    ChatcliError,
    InputError,
    SessionBusy,
    SessionNotFound,
    StorageError,
    UsageError,
)
from chatcli.core.event import Delta
from chatcli.core.session import Kind, Session, SessionId
from chatcli.engine.kv.store import kv_dir, open_disk
from chatcli.sessions.sqlite import SqliteStore
from tests.engine.kv.made import block, put
from tests.sessions.made import opened, session, turn


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of our own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def _run(*args: str, stdin: str | None = None) -> Result:
    app = typer.Typer()
    register(app)
    result = CliRunner().invoke(app, ["sessions", *args], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit | ChatcliError):
        raise result.exception
    return result


def _fails(*args: str) -> ChatcliError:
    result = _run(*args)
    assert isinstance(result.exception, ChatcliError)
    assert result.stdout == ""
    return result.exception


def _keep(name: str, title: str, *asked: str, kind: Kind = "chat", age_s: float = 0.0) -> Session:
    now = time.time() - age_s
    made = replace(session(name, title=title, kind=kind), clock=now, updated_at=now)
    parent = None
    with SqliteStore(paths.sessions_file()) as store:
        store.create(made)
        for n, words in enumerate(asked):
            whole = replace(turn(words, f"reply to {words}", parent=parent), started_at=now + n)
            store.begin(made.id, opened(whole)).finish(whole)
            parent = whole.id
        return store.get(made.id)


# -- looking -----------------------------------------------------------------------------


def test_chats_come_first_and_asks_only_with_all() -> None:
    """A newer one-shot does not push the chats down."""
    _keep("chat1111", "A chat", age_s=100)
    _keep("ask11111", "An ask", kind="ask")
    plain = _run("list")
    assert [line.split()[0] for line in plain.stdout.splitlines()] == ["chat1111"]
    everything = _run("list", "--all")
    assert [line.split()[0] for line in everything.stdout.splitlines()] == ["chat1111", "ask11111"]
    assert "ask: An ask" in everything.stdout
    assert everything.stderr == ""


def test_a_list_that_is_cut_says_so() -> None:
    """On stderr; 0 shows all."""
    for n in range(3):
        _keep(f"chat{n}", f"Chat {n}", age_s=n)
    cut = _run("list", "--limit", "2")
    assert len(cut.stdout.splitlines()) == 2
    assert "1 more" in cut.stderr
    assert len(_run("ls", "--limit", "0").stdout.splitlines()) == 3


def test_an_empty_list_is_no_error() -> None:
    """It says so on stderr, and what else there is."""
    empty = _run("list")
    assert (empty.exit_code, empty.stdout) == (0, "")
    assert "No chats" in empty.stderr
    assert json.loads(_run("list", "--json").stdout) == []
    _keep("ask11111", "An ask", kind="ask")
    assert "--all" in _run("list").stderr


def test_titles_cannot_forge_lines_or_colours() -> None:
    """One line for each session, whatever its title."""
    _keep("chat1111", "evil\nchat2222 \x1b[31m", "q")
    shown = _run("list").stdout + _run("show", "chat1111").stdout + _run("search", "q").stdout
    assert "\x1b" not in shown
    assert len(_run("list").stdout.splitlines()) == 1
    assert json.loads(_run("list", "--json").stdout)[0]["title"].startswith("evil\n")


def test_search_shows_where_the_words_are() -> None:
    """Two lines for each hit; JSON has the turn."""
    made = _keep("chat1111", "Bread", "How do I bake sourdough?", "And rye?")
    found = _run("search", "sourdough")
    assert "bake sourdough" in found.stdout
    (hit,) = json.loads(_run("search", "bake", "--json").stdout)
    assert hit["session"]["id"] == made.id
    nothing = _run("search", "zanzibar")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "Nothing" in nothing.stderr


def test_show_prints_all_turns_of_the_path() -> None:
    """The one used last, if none is named; the prefix and the title work, too."""
    _keep("chat1111", "Bread", "first", "second")
    text = _run("show").stdout
    assert text == _run("show", "chat").stdout == _run("show", "bread").stdout
    asked = ["first", "reply to first", "second", "reply to second"]
    assert [line for line in text.splitlines() if line in asked] == asked
    assert "--- made \u00b7 3 + 2 tokens" in text


def test_an_interrupted_reply_is_shown_and_marked_apart() -> None:
    """The mark stands in the line of facts, never in the text."""
    made = _keep("chat1111", "Bread", "first")
    store = SqliteStore(paths.sessions_file())
    draft = store.begin(made.id, opened(turn("second", parent=made.head)))
    draft.append(Delta("text", "half a rep"))
    store.close()
    lines = _run("show", "chat1111").stdout.splitlines()
    assert "reply to first" in lines
    assert lines[-2:] == ["--- made \u00b7 interrupted", "half a rep"]


def test_show_draws_the_tree_and_gives_json() -> None:
    """A line for each turn; JSON is what export writes."""
    made = _keep("chat1111", "Bread", "first", "second")
    first, second = _run("show", "chat1111", "--tree").stdout.splitlines()
    assert first.startswith("* ")
    assert second.startswith("> ")
    assert second.endswith(" second")
    whole = _run("show", "chat1111", "--json").stdout
    assert whole == _run("export", "chat1111", "-f", "json").stdout
    assert len(json.loads(whole)["sessions"][0]["turns"]) == 2
    assert json.loads(whole)["sessions"][0]["head"] == made.head


def test_what_is_not_there_is_named() -> None:
    """With what to do."""
    assert "chatcli chat" in _fails("show").hint
    for command in ("show", "export", "rm"):
        assert isinstance(_fails(command, "nobody"), SessionNotFound)


def test_path_is_the_database() -> None:
    """So that it can be backed up."""
    assert _run("path").stdout.strip() == str(paths.sessions_file())


# -- changing ----------------------------------------------------------------------------


def test_rename() -> None:
    """The order of the list stays."""
    _keep("chat1111", "Bread", age_s=50)
    _keep("chat2222", "Butter")
    assert _run("rename", "chat1111", "  New\ntitle ").exit_code == 0
    assert [line.split("  ")[-1] for line in _run("list").stdout.splitlines()] == [
        "Butter",
        "New title",
    ]
    assert isinstance(_fails("rename", "chat1111", " "), UsageError)


def test_rm_asks_first() -> None:
    """Without a terminal it refuses, and -y does it; several at once, named twice or not."""
    _keep("chat1111", "Bread")
    _keep("chat2222", "Butter")
    refused = _run("rm", "chat1111")
    assert isinstance(refused.exception, UsageError)
    assert "Bread" in refused.stderr
    assert len(_run("list").stdout.splitlines()) == 2
    gone = _run("rm", "-y", "chat1111", "Bread", "chat2222")
    assert (gone.exit_code, gone.stdout) == (0, "")
    assert "Deleted 2 sessions" in gone.stderr
    assert _run("list").stdout == ""


def test_what_is_open_elsewhere_is_neither_renamed_nor_deleted() -> None:
    """The other process would write it back."""
    made = _keep("chat1111", "Bread")
    with SqliteStore(paths.sessions_file()) as other, other.hold(made.id):
        assert isinstance(_fails("rename", "chat1111", "x"), SessionBusy)
        assert isinstance(_run("rm", "-y", "chat1111").exception, SessionBusy)
        pruned = _run("prune", "--chats", "--older", "0d", "-y")
        assert "Deleted 0 sessions" in pruned.stderr
    assert "Bread" in _run("list").stdout


def test_prune_deletes_what_is_old_of_the_chosen_kinds() -> None:
    """Asks with --asks, chats only with --chats; --dry-run deletes nothing."""
    day = 86400.0
    _keep("oldask11", "old ask", kind="ask", age_s=40 * day)
    _keep("newask11", "new ask", kind="ask", age_s=20 * day)
    _keep("oldchat1", "old chat", age_s=400 * day)
    dry = _run("prune", "--asks", "--older", "30d", "--dry-run")
    assert [line.split()[0] for line in dry.stdout.splitlines()] == ["oldask11"]
    assert "Would delete 1 session." in dry.stderr
    assert isinstance(_run("prune", "--asks").exception, UsageError)
    assert isinstance(_fails("prune", "-y"), UsageError)
    assert "Deleted 1 session." in _run("prune", "--asks", "-y").stderr
    assert "Deleted 1 session." in _run("prune", "--chats", "--older", "1y", "-y").stderr
    assert len(_run("list", "--all").stdout.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "d", "30", "-1d", "1.5d", "\u0663d", "9999999d", "3m"])
def test_a_wrong_age_is_named(text: str) -> None:
    """With examples."""
    with pytest.raises(UsageError, match="no age"):
        age_s(text)


# -- files -------------------------------------------------------------------------------


def test_export_goes_by_the_files_ending(home: Path) -> None:
    """Or by -f; the file is private."""
    _keep("chat1111", "Bread", "first")
    for name, start in (("a.md", "# Bread"), ("a.html", "<!doctype"), ("a.json", '{"format"')):
        result = _run("export", "chat1111", "-o", str(home / name))
        assert (result.exit_code, result.stdout) == (0, "")
        assert (home / name).read_text().startswith(start)
        assert (home / name).stat().st_mode & 0o777 == 0o600
    assert _run("export", "chat1111").stdout == (home / "a.md").read_text()
    assert _run("export", "chat1111", "-f", "html").stdout == (home / "a.html").read_text()
    assert isinstance(_fails("export", "chat1111", "-o", str(home)), StorageError)


def test_what_was_exported_is_imported_again(home: Path) -> None:
    """After it was deleted here; the second time it is known."""
    made = _keep("chat1111", "Bread", "first", "second")
    file = str(home / "a.json")
    _run("export", "chat1111", "-o", file)
    _run("rm", "-y", "chat1111")
    assert "1 session added; 2 turns" in _run("import", file).stderr
    assert "1 known already" in _run("import", file, "--format", "chatcli").stderr
    with SqliteStore(paths.sessions_file()) as store:
        assert store.get(made.id) == made


def test_a_file_without_chats_is_refused(home: Path) -> None:
    """As is one that is missing."""
    (home / "empty.json").write_text("[]")
    assert isinstance(_fails("import", str(home / "empty.json")), InputError)
    assert isinstance(_fails("import", str(home / "missing.json")), InputError)


def test_ids_are_completed_with_their_titles() -> None:
    """Nothing is made where there is nothing, and a broken database is no trouble."""
    assert complete_id("") == []
    assert not paths.sessions_file().exists()
    _keep("chat1111", "Bread")
    assert complete_id("ch") == [("chat1111", "Bread")]
    assert complete_id("x") == []
    paths.sessions_file().write_bytes(b"broken")
    assert complete_id("") == []


def test_kill_9_in_a_reply_then_show(home: Path) -> None:
    """Done-when 4: a real process is killed; earlier turns and the shown part are there."""
    from tests.sessions.children import start

    made = _keep("chat1111", "Bread", "first", "second")
    child = start(
        f"""
draft = store.begin(SessionId("chat1111"), opened(turn("third", parent=TurnId("{made.head}"))))
for word in ("one", " two", " three"):
    draft.append(Delta("text", word))
say("shown")
sys.stdin.read()
""",
        paths.sessions_file(),
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "shown\n"
    child.kill()
    child.communicate()
    lines = _run("show").stdout.splitlines()
    assert [line for line in lines if line.startswith("reply to")] == [
        "reply to first",
        "reply to second",
    ]
    assert lines[-2:] == ["--- made \u00b7 interrupted", "one two three"]
    assert SessionId("chat1111") == made.id


def test_deleted_chats_take_their_state_along() -> None:
    """KV state could be turned back into text: rm and prune delete it, rename does not."""
    one = _keep("chat1111", "One", "hello", age_s=9 * 86400)
    two = _keep("chat2222", "Two", "hello")
    for chat, token in ((one, 1), (two, 2)):
        put(kept := open_disk(), block([token]), session=chat.id)
        kept.close()

    def files() -> int:
        return len(list(kv_dir().glob("*/??/*.kv")))

    _run("rename", "chat1111", "Uno")
    assert files() == 2
    _run("prune", "--chats", "--older", "7d", "-y")
    assert files() == 1
    _run("rm", "chat2222", "-y")
    assert files() == 0
