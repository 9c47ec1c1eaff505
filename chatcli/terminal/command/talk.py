"""Moving in the tree of turns, and asking again: nothing is ever overwritten."""

from chatcli.core.errors import UsageError
from chatcli.core.printable import visible_line
from chatcli.core.session import Turn
from chatcli.sessions.titles import clipped
from chatcli.terminal.chat import Chat, question
from chatcli.terminal.slash import Command


def brief(text: str, width: int = 60) -> str:
    """Return `text` as one line of at most `width` cells."""
    return clipped(visible_line(text), width)


def plural(n: int, noun: str) -> str:
    """Return "1 token" or "1,234 tokens"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _turn(chat: Chat, reference: str) -> Turn:
    return chat.conversation.find(reference) if reference else chat.conversation.current()


def _number(text: str, what: str) -> int:
    if not text:
        return 1
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise UsageError(f"{what} wants a number of turns, not {brief(text)!r}")
    return int(text)


def regen(chat: Chat, argument: str) -> None:
    """Ask the last question again, with another model if one is named."""
    chat.conversation.current()
    if argument and argument != chat.session.model:
        before = chat.session.model
        chat.load(argument)
        chat.conversation.set_model(argument)
        chat.note(f"From here on with {argument}; /model {before} goes back.")
    chat.turn(chat.conversation.regenerate)


def go_on(chat: Chat, argument: str) -> None:
    """Let the last reply go on where it ended."""
    del argument
    chat.conversation.current()
    chat.turn(chat.conversation.resume)


def undo(chat: Chat, argument: str) -> None:
    """Step back; the turns stepped over stay in the tree."""
    gone = chat.conversation.undo(_number(argument, "/undo"))
    chat.moved()
    left = len(chat.conversation.path())
    where = f"you are after question {left}" if left else "the chat is empty again"
    chat.note(f"Undone: {brief(question(gone[0]))}")
    if len(gone) > 1:
        chat.note(f"and {len(gone) - 1} more")
    chat.note(f"Now {where}. /go {gone[-1].id[:8]} goes back, /tree shows all.")


def edit(chat: Chat, argument: str) -> None:
    """Put an old question into the prompt; what is sent then takes its place."""
    turn = _turn(chat, argument)
    chat.editing = turn
    chat.prefill = "\n".join(message.text for message in turn.asked)
    if chat.interactive:
        chat.note("Edit the question and send it; the old one stays in the /tree. Ctrl-C cancels.")


def fork(chat: Chat, argument: str) -> None:
    """Go on in a copy: of this chat, or of the one that another process holds."""
    if chat.busy is not None and not argument:
        source, chat.busy = chat.busy, None
        chat.conversation.fork_of(source, source.head)
    else:
        source = chat.conversation.fork(_turn(chat, argument))
    chat.moved()
    chat.preload()
    chat.note(f"This is a copy; the original is {source.id[:8]}.")
    chat.show_last()


def go(chat: Chat, argument: str) -> None:
    """Make any turn of the tree the current one."""
    if not argument:
        raise UsageError("/go wants a turn", "Give an id from /tree, or a number")
    chat.conversation.go(chat.conversation.find(argument))
    chat.moved()
    chat.show_last()


COMMANDS = (
    Command(
        "regen", "[MODEL]", "Ask again, with another model if named",
        regen, ("retry",), "model",
    ),
    Command("continue", "", "Let the last reply go on where it ended", go_on),
    Command("edit", "[N]", "Edit a question and ask that instead",
            edit, completes="turn"),
    Command("undo", "[N]", "Step back by N turns; they stay in the tree", undo),
    Command("fork", "[N]", "Go on in a copy that ends with turn N, or here",
            fork, completes="turn"),
    Command("go", "ID", "Go to any turn of the tree", go, completes="turn"),
)  # fmt: skip
