"""Importing: nothing twice, nothing touched that was said here, and clear refusals."""

import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from chatcli.core.errors import InputError
from chatcli.core.message import Document, Reasoning, Text
from chatcli.core.session import TurnId
from chatcli.sessions.export import as_json
from chatcli.sessions.importing import Outcome, import_chats, read_chats
from chatcli.sessions.sqlite import SqliteStore
from tests.sessions.made import opened, session, turn


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A new store."""
    with SqliteStore(tmp_path / "data" / "sessions.db") as made:
        yield made


def _write(tmp_path: Path, value: object, name: str = "chats.json") -> Path:
    file = tmp_path / name
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return file


# -- ours --------------------------------------------------------------------------------


def test_our_json_comes_back_whole(store: SqliteStore, tmp_path: Path) -> None:
    """Into an empty store: the session, its tree, token ids and usage; twice adds nothing."""
    root = turn("root")
    left, right = turn("left", parent=root.id), turn("right", parent=root.id)
    made = replace(session(title="Tr\u00e9e", kind="ask"), head=left.id)
    file = _write(tmp_path, as_json(made, [root, left, right]))
    chats = read_chats(file)
    assert import_chats(store, chats) == Outcome(added=1, extended=0, unchanged=0, turns=3)
    assert store.get(made.id) == made
    assert store.turns(made.id) == [root, left, right]
    again = import_chats(store, read_chats(file, "chatcli"))
    assert again == Outcome(added=0, extended=0, unchanged=1, turns=0)


def test_a_longer_export_adds_what_is_new(store: SqliteStore, tmp_path: Path) -> None:
    """The head goes along, unless something was said here since."""
    first = turn("first")
    second = turn("second", parent=first.id)
    made = replace(session(title="t"), head=first.id)
    store.add(made, [first])
    file = _write(tmp_path, as_json(replace(made, head=second.id), [first, second]))
    assert import_chats(store, read_chats(file)).extended == 1
    assert store.get(made.id).head == second.id

    mine = turn("mine", parent=second.id)
    store.begin(made.id, opened(mine)).finish(mine)
    third = turn("third", parent=second.id)
    longer = _write(tmp_path, as_json(replace(made, head=third.id), [first, second, third]))
    assert import_chats(store, read_chats(longer)).turns == 1
    assert store.get(made.id).head == mine.id
    assert len(store.turns(made.id)) == 4


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"format": "other"}, "format"),
        ({"version": 99}, "version is 99"),
        ({"version": True}, "version is not a whole number"),
        ({"sessions": {}}, "sessions is not a list"),
        ({"sessions": [{}]}, "sessions[0] has no 'id'"),
    ],
)
def test_a_wrong_file_of_ours_is_named(
    tmp_path: Path, change: dict[str, object], named: str
) -> None:
    """By the place of what is wrong."""
    value = json.loads(as_json(session(), [])) | change
    file = _write(tmp_path, value)
    with pytest.raises(InputError) as caught:
        read_chats(file, "chatcli")
    assert named in caught.value.message
    assert str(file) in caught.value.message


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("id",), "../../etc", "no"),
        (("head",), "nowhere", "head is no turn"),
        (("clock",), "now", "clock is not a number"),
        (("clock",), 10**400, "clock is not a number"),
        (("kind",), "letter", "kind is 'letter'"),
        (("sampling",), {"top_k": 0.5}, "top_k is not a whole number"),
        (("turns", 0, "parent"), "later", "parent 'later' does not come before"),
        (("turns", 0, "reply"), [], "reply is not an object"),
        (("turns", 0, "reply", "role"), "boss", "role is 'boss'"),
        (("turns", 0, "reply", "parts", 0), {"video": 1}, "parts[0] is no known kind"),
        (("turns", 0, "tokens", "f"), {"keep": 0, "prompt": [-1], "reply": []}, "token ids"),
        (("turns", 0, "usage"), {"evaluated": "x"}, "evaluated is not a whole number"),
        (("turns", 1, "id"), "same", "there twice"),
    ],
)
def test_what_is_wrong_in_a_chat_is_named(
    tmp_path: Path, path: tuple[str | int, ...], value: object, named: str
) -> None:
    """By its place, whatever it is."""
    first = turn(name="same")
    made = replace(session(), head=first.id)
    whole = json.loads(as_json(made, [first, turn(name="other")]))
    at = whole["sessions"][0]
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    with pytest.raises(InputError) as caught:
        read_chats(_write(tmp_path, whole))
    assert named in caught.value.message
    assert "sessions[0]" in caught.value.message


@pytest.mark.parametrize(
    "content", ["", "not json", "[1]", '"x"', '{"a": 1}', "[" * 100_000, "\x00\x01"]
)
def test_a_file_of_no_known_form_is_refused(tmp_path: Path, content: str) -> None:
    """The hint says what is known."""
    with pytest.raises(InputError) as caught:
        read_chats(_write(tmp_path, content))
    assert "logs.db" in caught.value.hint


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Missing, a folder, or not text."""
    (tmp_path / "latin").write_bytes(b"\xff\xfe\xfa[]")
    for name in ("missing", ".", "latin"):
        with pytest.raises(InputError):
            read_chats(tmp_path / name)


# -- ChatGPT -----------------------------------------------------------------------------


def _node(key: str, parent: str | None, role: str, content: object, **more: object) -> object:
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    message = {
        "id": key,
        "author": {"role": role},
        "create_time": 1.7e9,
        "content": content,
        "recipient": "all",
        "metadata": {},
    }
    return {"id": key, "message": message | more, "parent": parent, "children": []}


def _conversation() -> dict[str, object]:
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "Hm."}]}
    picture = {
        "content_type": "multimodal_text",
        "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "x"}, "What is it?"],
    }
    slug = {"model_slug": "gpt-4o"}
    nodes = [
        {"id": "root", "message": None, "parent": None, "children": ["s"]},
        _node("s", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        _node("u1", "s", "user", "How are you?"),
        _node("t1", "u1", "assistant", thoughts),
        _node("a1", "t1", "assistant", "Fine.", metadata=slug),
        _node("a1b", "u1", "assistant", "Well.", metadata=slug),
        _node("u2", "a1", "user", picture),
        _node("c2", "u2", "assistant", "look(x)", recipient="python"),
        _node("r2", "c2", "tool", "a cat"),
        _node("a2", "r2", "assistant", "A cat.", metadata=slug),
        _node("u2b", "a1", "user", "And then?"),
    ]
    return {
        "title": "Greetings",
        "create_time": 1.6e9,
        "conversation_id": "conv-1",
        "current_node": "a2",
        "mapping": {str(node["id"]): node for node in nodes if isinstance(node, dict)},
    }


def test_chatgpts_tree_becomes_ours(store: SqliteStore, tmp_path: Path) -> None:
    """Edits and regenerations are siblings; the current node is the head; twice adds nothing."""
    file = _write(tmp_path, [_conversation()])
    assert import_chats(store, read_chats(file), model="smollm2:135m").turns == 4
    (made,) = store.sessions()
    assert (made.title, made.clock, made.model) == ("Greetings", 1.6e9, "smollm2:135m")
    path = store.path(made.id, made.head)
    assert [t.asked[0].text for t in path] == ["How are you?", "[image]\nWhat is it?"]
    assert path[0].reply.parts == (Reasoning("Hm."), Text("Fine."))
    assert path[1].reply.parts == (Reasoning("look(x)"), Reasoning("a cat"), Text("A cat."))
    assert path[1].route.model == "gpt-4o"
    others = [t for t in store.turns(made.id) if t not in path]
    assert sorted(t.reply.text for t in others) == ["", "Well."]
    again = import_chats(store, read_chats(file))
    assert (again.unchanged, again.turns) == (1, 0)


def test_chatgpts_zip_is_read(tmp_path: Path) -> None:
    """With its conversations in one file or in several."""
    other = _conversation() | {"conversation_id": "conv-2"}
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("user.json", "{}")
        archive.writestr("x/conversations-000.json", json.dumps([_conversation()]))
        archive.writestr("x/conversations-001.json", json.dumps([other]))
    assert len(read_chats(tmp_path / "export.zip")) == 2


def test_a_wrong_zip_is_named(tmp_path: Path) -> None:
    """Damaged, or without conversations."""
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("notes.txt", "x")
    with pytest.raises(InputError, match=r"no conversations\.json"):
        read_chats(tmp_path / "other.zip")
    data = (tmp_path / "other.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[:-20])
    with pytest.raises(InputError, match="cannot be unpacked"):
        read_chats(tmp_path / "cut.zip")


def test_a_circle_in_a_tree_is_named(tmp_path: Path) -> None:
    """Instead of running for ever."""
    nodes = {"a": _node("a", "b", "user", "x"), "b": _node("b", "a", "user", "y")}
    nodes["c"] = _node("c", "a", "user", "z")
    with pytest.raises(InputError, match="its own ancestor"):
        read_chats(_write(tmp_path, [{"id": "1", "mapping": nodes}]))


def test_nodes_of_the_wrong_type_are_named(tmp_path: Path) -> None:
    """With the conversation and the node."""
    with pytest.raises(InputError, match="conversation 1, node a is not an object"):
        read_chats(_write(tmp_path, [{"id": "1", "mapping": {"a": 5}}]))


# -- llm ---------------------------------------------------------------------------------


def _old_log(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.executescript("""
            CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
            CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT,
                response TEXT, conversation_id TEXT, datetime_utc TEXT, input_tokens INTEGER,
                output_tokens INTEGER);
            CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, source TEXT);
            CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
            INSERT INTO conversations VALUES ('c1', 'Pelicans', 'gpt-4o-mini');
            INSERT INTO responses VALUES
                ('r2', 'gpt-4o-mini', 'More', NULL, 'Another', 'c1', '2024-05-01T10:01:00', 9, 3),
                ('r1', 'gpt-4o-mini', 'A pelican?', 'Be brief', 'A bird', 'c1',
                 '2024-05-01T10:00:00', 5, 2),
                ('r3', 'm', 'alone', NULL, 'yes', NULL, '2024-05-02T10:00:00', NULL, NULL);
            INSERT INTO fragments VALUES (1, 'abc', 'file text', 'notes.txt');
            INSERT INTO prompt_fragments VALUES ('r1', 1, 0);
        """)


def test_llms_log_becomes_sessions(store: SqliteStore, tmp_path: Path) -> None:
    """In order of time, with fragments, system prompt and counts; twice adds nothing."""
    file = tmp_path / "logs.db"
    _old_log(file)
    before = file.read_bytes()
    assert import_chats(store, read_chats(file)).turns == 3
    chat, ask = (store.sessions(kinds=(kind,))[0] for kind in ("chat", "ask"))
    assert (chat.title, chat.system, chat.model) == ("Pelicans", "Be brief", "gpt-4o-mini")
    first, second = store.path(chat.id, chat.head)
    assert first.asked[0].parts == (Document("notes.txt", "file text"), Text("A pelican?"))
    assert (first.usage.evaluated, first.usage.completion) == (5, 2)
    assert (first.started_at, second.reply.text) == (1714557600.0, "Another")
    assert ask.title == "alone"
    assert import_chats(store, read_chats(file)).unchanged == 2
    assert file.read_bytes() == before


def test_llms_later_log_becomes_sessions(store: SqliteStore, tmp_path: Path) -> None:
    """Messages that name the one before; a chat that both schemas know is there once."""
    file = tmp_path / "logs.db"
    _old_log(file)
    with closing(sqlite3.connect(file)) as db:
        db.executescript("""
            CREATE TABLE threads (id TEXT, name TEXT, tip_message_hash TEXT, datetime_utc TEXT);
            CREATE TABLE turns (id TEXT, thread_id TEXT, parent_message_hash TEXT,
                tip_message_hash TEXT, model TEXT, resolved_model TEXT, input_tokens INTEGER,
                output_tokens INTEGER, datetime_utc TEXT);
            CREATE TABLE messages (hash TEXT, parent_hash TEXT, role TEXT);
            CREATE TABLE parts (id INTEGER, message_hash TEXT, position INTEGER, type TEXT,
                text TEXT, payload TEXT);
            INSERT INTO threads VALUES ('c1', 'Pelicans', 'h4', '2026-05-01T10:00:00');
            INSERT INTO turns VALUES
                ('t1', 'c1', NULL, 'h2', 'm', NULL, 5, 2, '2026-05-01T10:00:00'),
                ('t2', 'c1', 'h2', 'h4', 'm', 'm-1', 9, 3, '2026-05-01T10:01:00');
            INSERT INTO messages VALUES ('h0', NULL, 'system'), ('h1', 'h0', 'user'),
                ('h2', 'h1', 'assistant'), ('h3', 'h2', 'user'), ('h4', 'h3', 'assistant');
            INSERT INTO parts VALUES
                (1, 'h0', 0, 'text', 'Be brief', NULL),
                (2, 'h1', 0, 'text', NULL,
                 '{"text_ref": [{"literal": "Sum up: "}, {"fragment": 1}]}'),
                (3, 'h2', 0, 'reasoning', 'Hm', NULL), (4, 'h2', 1, 'text', 'Text', NULL),
                (5, 'h3', 0, 'text', 'More', NULL), (6, 'h4', 0, 'text', 'Done', NULL),
                (7, 'h4', 1, 'tool_call', NULL, '{"name": "x"}');
        """)
    assert import_chats(store, read_chats(file)).added == 2
    (chat,) = store.sessions(kinds=("chat",))
    first, second = store.path(chat.id, chat.head)
    assert chat.system == "Be brief"
    assert first.asked[0].text == "Sum up: file text"
    assert first.reply.parts == (Reasoning("Hm"), Text("Text"))
    assert (second.route.model, second.usage.completion) == ("m-1", 3)


def test_another_database_is_no_log(tmp_path: Path) -> None:
    """The missing table or column is named; so is damage."""
    for sql, named in (("x (y)", "no table responses"), ("responses (id)", "no column model")):
        file = tmp_path / f"{len(sql)}.db"
        with closing(sqlite3.connect(file)) as db:
            db.execute(f"CREATE TABLE {sql}")
        with pytest.raises(InputError, match=named):
            read_chats(file)
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    with pytest.raises(InputError, match="cannot be read as a log"):
        read_chats(tmp_path / "broken.db")
    with pytest.raises(InputError):
        read_chats(tmp_path / "missing.db", "llm")


def test_ids_of_imports_are_ours(tmp_path: Path) -> None:
    """So that they can be typed, and name no path."""
    (chat,) = read_chats(_write(tmp_path, [_conversation()]))
    assert all(len(TurnId(name)) == 16 for name in (chat.session.id, *(t.id for t in chat.turns)))
