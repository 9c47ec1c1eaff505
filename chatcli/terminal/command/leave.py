"""Finding one's way, and the way out: /help and /bye."""

from collections.abc import Callable, Sequence

from chatcli.core.errors import UsageError
from chatcli.core.nearest import nearest
from chatcli.terminal.chat import Chat
from chatcli.terminal.slash import Command

_KEYS = (
    ("Enter", "sends; Ctrl-J or Alt-Enter begins a new line"),
    ('"""', "begins and ends several lines; pasted lines stay as they are"),
    ("Ctrl-G", "opens the text in your editor"),
    ("Ctrl-R", "searches what you typed before; Up and Down walk it"),
    ("Tab", "completes commands, models, chats, turns and paths"),
    ("Ctrl-C", "stops a reply; at the prompt it clears the line"),
    ("Ctrl-D", "leaves"),
)


def commands(table: Callable[[], Sequence[Command]]) -> tuple[Command, ...]:
    """Return the commands; /help lists `table`."""

    def help_(chat: Chat, argument: str) -> None:
        word = argument.strip().lstrip("/.")
        chat.out(help_of(word, table()) if word else help_text(table()))

    return (
        Command(
            "help", "[COMMAND]", "List commands and keys, or explain one",
            help_, ("?",), "command",
        ),
        Command("bye", "", "Leave; the chat is kept", leave, ("exit", "quit")),
    )  # fmt: skip


def leave(chat: Chat, argument: str) -> None:
    """End the chat."""
    del argument
    chat.leave()


def _usage(command: Command) -> str:
    return f"/{command.name} {command.argument}".rstrip()


def help_text(table: Sequence[Command]) -> str:
    """Return all commands and keys, one a line."""
    left = max(len(_usage(command)) for command in table)
    lines = []
    for command in table:
        also = ", ".join(f"/{word}" for word in command.aliases)
        tail = f" (also {also})" if also else ""
        lines.append(f"  {_usage(command):<{left}}  {command.help}{tail}")
    keys = [f"  {key:<8}  {what}" for key, what in _KEYS]
    return "\n".join(["Commands", *lines, "", "Keys", *keys])


def help_of(word: str, table: Sequence[Command]) -> str:
    """Return what there is to say about one command.

    Raises:
        UsageError: it is unknown.
    """
    for command in table:
        if word in command.words:
            also = "".join(f"\n  also /{alias}" for alias in command.aliases)
            return f"{_usage(command)}\n  {command.help}{also}"
    meant = nearest(word, [name for command in table for name in command.words])
    raise UsageError(
        f"unknown command /{word}", f"Did you mean /{meant}?" if meant else "/help lists them"
    )
