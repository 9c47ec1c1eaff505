"""In and out of the chat: /read, /copy, /export."""

import os
import re
from pathlib import Path

from chatcli.core.errors import InputError, StorageError, UsageError
from chatcli.core.printable import visible_line
from chatcli.core.session import Session
from chatcli.paths import expanded
from chatcli.sessions.export import as_json, as_markdown
from chatcli.sessions.export_html import as_html
from chatcli.terminal.chat import Chat
from chatcli.terminal.clipboard import copy as to_clipboard
from chatcli.terminal.command.talk import plural
from chatcli.terminal.reading import documents, split
from chatcli.terminal.slash import Command

_FENCE = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<code>.*?)(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)


def read(chat: Chat, argument: str) -> None:
    """Give files along with a question: with this one, or else with the next."""
    paths, question = split(argument)
    chat.documents += documents(paths)
    if question:
        chat.send(question)
        return
    names = ", ".join(visible_line(document.name) for document in chat.documents)
    chat.note(f"With your next question: {names}")


def first_code(text: str) -> str | None:
    """Return the inside of the first fenced code block."""
    found = _FENCE.search(text)
    return found["code"] if found else None


def copy(chat: Chat, argument: str) -> None:
    """Copy a reply, or the first code block in it, to the clipboard."""
    words = argument.split()
    code = "code" in words
    references = [word for word in words if word != "code"]
    if len(references) > 1:
        raise UsageError("/copy wants one turn", "/copy, /copy 2, /copy code or /copy 2 code")
    conversation = chat.conversation
    turn = conversation.find(references[0]) if references else conversation.current()
    text: str | None = turn.reply.text
    if code:
        text = first_code(turn.reply.text)
    if not text:
        raise InputError("the reply has no code block" if code else "the reply is empty")
    how = to_clipboard(text, chat.env)
    what = "the code block" if code else "the reply"
    chat.note(f"Copied {what} ({plural(len(text), 'character')}) by {how}.")


def export(chat: Chat, argument: str) -> None:
    """Write the chat to a file; its suffix says in which form. An existing file is kept."""
    session, path = chat.session, chat.conversation.path()
    if not path:
        raise UsageError("nothing has been said in this chat yet", "Ask something first")
    file = expanded(argument.strip("\"'")) if argument else Path(f"{_stem(session)}.md")
    match file.suffix.lower():
        case ".md" | ".markdown":
            text = as_markdown(session, path)
        case ".json":
            text = as_json(session, chat.conversation.turns())
        case ".html" | ".htm":
            text = as_html(session, path)
        case _:
            raise UsageError(
                f"{visible_line(file.name)} does not say in which form",
                "End it in .md, .json or .html",
            )
    _write_new(file, text)
    chat.note(f"Written: {visible_line(str(file))} ({plural(len(path), 'turn')})")


def _stem(session: Session) -> str:
    return re.sub(r"[^\w.-]+", "-", session.title.lower()).strip("-.")[:60] or session.id


def _write_new(file: Path, text: str) -> None:
    shown = visible_line(str(file))
    try:
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise UsageError(f"{shown} exists already", "Give another name: /export FILE") from error
    except OSError as error:
        raise StorageError(
            f"cannot write {shown}: {error.strerror or error}",
            "Check the folder, or give another name: /export FILE",
        ) from error


COMMANDS = (
    Command("export", "[FILE]", "Write the chat to a file: .md, .json or .html",
            export, completes="file"),
    Command("read", "PATH... [QUESTION]", "Give files with this or the next question",
            read, completes="path"),
    Command("copy", "[N] [code]", "Copy the last reply, or its first code block",
            copy, completes="copy"),
)  # fmt: skip
