"""In and out of the chat: /read, /copy, /export."""

import re

from chatcli.core.errors import InputError, UsageError
from chatcli.core.printable import visible_line
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


COMMANDS = (
    Command("read", "PATH... [QUESTION]", "Give files along with this or the next question",
            read, completes="path"),
    Command("copy", "[N] [code]", "Copy the last reply, or its first code block",
            copy, completes="copy"),
)  # fmt: skip
