"""Which chat: new, load, list, search, save."""

import time

from chatcli.core.errors import SessionBusy, UsageError
from chatcli.core.printable import model_label, visible_line
from chatcli.core.session import Session
from chatcli.sessions.titles import padded
from chatcli.terminal.chat import Chat
from chatcli.terminal.command.talk import brief
from chatcli.terminal.slash import Command

_SHOWN = 20


def new(chat: Chat, argument: str) -> None:
    """Start a new chat with the same model and system prompt."""
    del argument
    left = chat.session
    had = bool(chat.conversation.turns())
    chat.conversation.start(model=left.model, system=left.system)
    chat.conversation.set_sampling(left.sampling)
    chat.documents.clear()
    chat.moved()
    kept = f" The old one is kept: /load {left.id[:8]}" if had and chat.kept else ""
    chat.note(f"A new chat.{kept}")


def load(chat: Chat, argument: str) -> None:
    """Take up a stored chat where it was left."""
    if not argument:
        raise UsageError("/load wants a chat", "Give an id or a title; /list shows them")
    take_up(chat, chat.store.resolve(argument))


def take_up(chat: Chat, session: Session) -> None:
    """Load `session` and show where it stands.

    Raises:
        SessionBusy: another process holds it; /fork then copies it.
    """
    try:
        chat.conversation.load(session)
    except SessionBusy as error:
        chat.moved()
        chat.busy = session
        raise SessionBusy(error.message, "/fork goes on in a copy of it") from error
    chat.documents.clear()
    chat.preload()
    chat.moved()
    chat.show_last()


def _age(seconds: float) -> str:
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name} ago"
    return "just now"


def _row(session: Session, now: float, here: bool) -> str:
    mark = "*" if here else " "
    title = brief(session.title) or "untitled"
    age = _age(max(0.0, now - session.updated_at))
    model = padded(brief(model_label(session.model), 24), 24)
    return f"{mark} {session.id[:8]:<8}  {age:>11}  {model}  {title}"


def list_(chat: Chat, argument: str) -> None:
    """List the chats, last used first; with words, those whose title has them."""
    words = argument.lower().split()
    found = [
        session
        for session in chat.store.sessions(kinds=("chat",))
        if all(word in session.title.lower() for word in words)
    ]
    if not found:
        chat.note("No chat has these words in its title; /search looks inside." if words
                  else "No chats are kept yet.")  # fmt: skip
        return
    now = time.time()
    rows = [_row(session, now, session.id == chat.session.id) for session in found[:_SHOWN]]
    chat.out("\n".join(rows))
    more = len(found) - len(rows)
    chat.note(f"{more} more: /list WORDS narrows it down." if more > 0 else "/load ID opens one.")


def search(chat: Chat, argument: str) -> None:
    """Search the text of all chats."""
    if not argument:
        raise UsageError("/search wants words to look for")
    hits = chat.store.search(argument, limit=_SHOWN)
    if not hits:
        chat.note(f"Nothing was found for {visible_line(argument)!r}.")
        return
    for hit in hits:
        title = brief(hit.session.title, 40) or "untitled"
        chat.out(f"{hit.session.id[:8]}  {title}\n          {brief(hit.snippet, 100)}")
    chat.note("/load ID opens one.")


def save(chat: Chat, argument: str) -> None:
    """Give the chat a title."""
    if not argument:
        raise UsageError("/save wants a title", "Every chat is kept anyway, titled or not")
    chat.conversation.rename(visible_line(argument))
    if chat.kept:
        chat.note(f"Titled {visible_line(argument)!r}. Every chat is kept anyway, titled or not.")
    else:
        chat.note(f"Titled {visible_line(argument)!r}; but this chat is not kept (--no-log).")


COMMANDS = (
    Command("new", "", "Start a new chat; this one is kept", new, ("clear",)),
    Command("load", "ID|TITLE", "Take up a kept chat", load, completes="session"),
    Command("list", "[WORDS]", "List the chats, last used first", list_, ("ls",)),
    Command("search", "WORDS", "Search the text of all chats", search),
    Command("save", "TITLE", "Give this chat a title; it is kept anyway", save),
)
