"""ChatGPT's data export: `conversations.json`, or the .zip that it comes in.

A conversation is a tree of nodes (`mapping`: id -> message, parent, children) with a
`current_node`. What the user never saw is left out: hidden messages, and notes to tools
that hold no text. Pictures and sounds are not in the file; their places are named.
"""

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from chatcli.core.errors import InputError
from chatcli.core.message import Part, Reasoning, Text
from chatcli.sessions.checked import Malformed, field, loads, want
from chatcli.sessions.grow import Chat, Said, Source, grow

_PROGRAM = "chatgpt"


def read_zip(path: Path) -> list[Chat]:
    """Read the conversations in an export's .zip.

    Raises:
        InputError: it is damaged, or no such export.
        Malformed: a conversation is not what it should be.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if _is_conversations(name)]
            texts = [archive.read(name) for name in sorted(names)]
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise InputError(f"{path} cannot be unpacked: {error}", "Download it again") from error
    if not texts:
        raise InputError(
            f"{path} holds no conversations.json",
            "Give the .zip that ChatGPT's data export sends, or the conversations.json in it",
        )
    chats = []
    for text in texts:
        chats += read(loads(text.decode("utf-8", "replace")))
    return chats


def _is_conversations(name: str) -> bool:
    file = PurePosixPath(name).name
    return file.startswith("conversations") and file.endswith(".json")


def read(value: object) -> list[Chat]:
    """Read the list of conversations (or a single one).

    Raises:
        Malformed: a conversation is not what it should be.
    """
    items = value if isinstance(value, list) else [value]
    chats = [_chat(item, f"conversation {i + 1}") for i, item in enumerate(items)]
    return [chat for chat in chats if chat is not None]


def _chat(value: object, where: str) -> Chat | None:
    row = want(value, dict, where)
    mapping = field(row, "mapping", dict, where)
    key = _text(row, "conversation_id") or _text(row, "id") or _any_key(mapping, where)
    source = Source(
        program=_PROGRAM,
        key=key,
        title=_text(row, "title"),
        model=_text(row, "default_model_slug"),
        at=_number(row, "create_time"),
        head=_text(row, "current_node"),
    )
    return grow(source, _paths(mapping, where))


def _any_key(mapping: Mapping[str, object], where: str) -> str:
    if not mapping:
        raise Malformed(f"{where} has neither an id nor messages")
    return min(mapping)


def _paths(mapping: Mapping[str, object], where: str) -> Iterator[list[Said]]:
    """Yield the messages from the root to each leaf; a node is named by the leaf below it."""
    said = {key: _said(key, node, f"{where}, node {key}") for key, node in mapping.items()}
    parents = {key: _parent(node) for key, node in mapping.items()}
    inner = set(parents.values())
    for leaf in (key for key in mapping if key not in inner):
        path: list[Said] = []
        seen: set[str] = set()
        at: str | None = leaf
        while at is not None and at in mapping:
            if at in seen:
                raise Malformed(f"{where}: node {at} is its own ancestor")
            seen.add(at)
            if (message := said[at]) is not None:
                path.append(message)
            at = parents[at]
        yield path[::-1]


def _parent(node: object) -> str | None:
    parent = node.get("parent") if isinstance(node, dict) else None
    return parent if isinstance(parent, str) else None


def _said(key: str, node: object, where: str) -> Said | None:
    message = want(node, dict, where).get("message")
    if message is None:
        return None
    row = want(message, dict, f"{where}.message")
    metadata = _object(row, "metadata")
    role = _text(_object(row, "author"), "role")
    if metadata.get("is_visually_hidden_from_conversation") is True:
        return None
    parts = _parts(_object(row, "content"))
    if role == "tool" or (role == "assistant" and row.get("recipient", "all") != "all"):
        role, parts = "assistant", tuple(Reasoning(p.text) for p in parts if isinstance(p, Text))
    if not parts or role not in ("system", "user", "assistant"):
        return None
    return Said(
        key=key,
        role="user" if role == "user" else "system" if role == "system" else "assistant",
        parts=parts,
        at=_number(row, "create_time"),
        model=_text(metadata, "model_slug"),
    )


def _parts(content: Mapping[str, object]) -> tuple[Part, ...]:
    kind = content.get("content_type")
    if kind == "thoughts" and isinstance(thoughts := content.get("thoughts"), list):
        texts = [_text(thought, "content") for thought in thoughts if isinstance(thought, dict)]
        return tuple(Reasoning(text) for text in texts if text)
    if kind in ("reasoning_recap", "user_editable_context", "model_editable_context"):
        return ()
    pieces = content.get("parts")
    if not isinstance(pieces, list):
        pieces = [content.get("text")]
    text = "\n".join(shown for piece in pieces if (shown := _shown(piece)))
    return (Text(text),) if text else ()


def _shown(piece: object) -> str:
    if isinstance(piece, str):
        return piece
    if isinstance(piece, dict):
        kind = _text(piece, "content_type").removesuffix("_asset_pointer")
        return _text(piece, "text") or f"[{kind or 'attachment'}]"
    return ""


# What is missing or null there is common, and no reason to refuse a chat.


def _text(row: Mapping[str, object], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _object(row: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def _number(row: Mapping[str, object], name: str) -> float:
    with suppress(Malformed):
        return want(row.get(name), float, name)
    return 0.0
