"""Looking at the chat: tokens, context, cost, tree. Nothing is changed."""

from chatcli.core.errors import UsageError
from chatcli.core.message import user
from chatcli.orchestrator.context import in_context
from chatcli.sessions.tree import draw_tree
from chatcli.terminal.chat import Chat
from chatcli.terminal.command.talk import plural
from chatcli.terminal.slash import Command
from chatcli.terminal.stats import context_text, percent, stats_text


def tokens(chat: Chat, argument: str) -> None:
    """Count the tokens of a text, or of the chat."""
    chat.ready()
    empty = chat.conversation.measure()
    if argument:
        with_text = chat.conversation.measure(user(argument))
        chat.out(plural(with_text.prompt - empty.prompt, "token"))
    else:
        share = percent(empty.prompt, empty.limit)
        chat.out(f"{empty.prompt:,} of {empty.limit:,} tokens ({share})")


def context(chat: Chat, argument: str) -> None:
    """Show what is in the context, turn by turn."""
    del argument
    chat.ready()
    path = chat.conversation.path()
    turns, _ = in_context(path)
    chat.out(context_text(turns, len(path) - len(turns), chat.conversation.measure()))


def stats(chat: Chat, argument: str) -> None:
    """Show what the last turn and the chat cost."""
    del argument
    path = chat.conversation.path()
    if not path:
        raise UsageError("nothing has been said in this chat yet", "Ask something first")
    chat.out(stats_text([turn.usage for turn in path]))


def tree(chat: Chat, argument: str) -> None:
    """Draw all turns of the chat, with the path to the current one marked."""
    del argument
    turns = chat.conversation.turns()
    if not turns:
        raise UsageError("nothing has been said in this chat yet", "Ask something first")
    chat.out("\n".join(draw_tree(turns, chat.session.head)))
    chat.note("> is here; /go ID goes to any turn.")


COMMANDS = (
    Command("tree", "", "Draw all turns, those undone as well", tree),
    Command("tokens", "[TEXT]", "Count the tokens of a text, or of the chat", tokens),
    Command("context", "", "Show what is in the context, turn by turn", context),
    Command("stats", "", "Show what was reused and evaluated, and how fast", stats),
)
