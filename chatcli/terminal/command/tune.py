"""What can be changed during a chat: model, system prompt, sampling, the terminal."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from chatcli.core.errors import UsageError
from chatcli.core.nearest import nearest
from chatcli.core.printable import visible, visible_line
from chatcli.settings.keys import Key, Value, all_keys
from chatcli.settings.load import value_of
from chatcli.settings.value import from_text, source
from chatcli.terminal.chat import Chat
from chatcli.terminal.env import Env
from chatcli.terminal.slash import Command

_OTHER = ("reply.max_tokens", "context.overflow")

_OFTEN = (
    "sampling.temperature", "sampling.top_k", "sampling.top_p", "sampling.min_p",
    "sampling.repeat_penalty", "sampling.seed",
)  # fmt: skip
"""Shown by /set also where they are not set."""


def model(chat: Chat, argument: str) -> None:
    """Show the models, or change to another one from the next turn on."""
    if not argument:
        current = chat.session.model
        names = [current, *(name for name in chat.models() if name != current)]
        chat.out("\n".join(f"{'*' if name == current else ' '} {name}" for name in names))
        return
    before = chat.session.model
    chat.load(argument)
    chat.conversation.set_model(argument)
    chat.remeasure()
    chat.note(f"The model is now {visible_line(argument)}; it was {visible_line(before)}.")


def system(chat: Chat, argument: str) -> None:
    """Show or change the system prompt; a pair of quotes takes it away."""
    if not argument:
        chat.out(chat.session.system or "There is no system prompt.")
        return
    text = "" if argument in {'""', "''"} else argument
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    chat.conversation.set_system(text)
    chat.remeasure()
    chat.note("The system prompt is changed from the next question on." if text
              else "There is no system prompt any more.")  # fmt: skip


def settable() -> Mapping[str, Key]:
    """Return the keys that /set takes, by their short name."""
    return {
        name.rpartition(".")[2]: key
        for name, key in all_keys().items()
        if name.startswith(("sampling.", "terminal.")) or name in _OTHER
    }


def _key(word: str) -> Key:
    known = settable()
    short = word.rpartition(".")[2]
    key = known.get(short)
    if key is not None and word in {short, key.name}:
        return key
    if word in all_keys():
        raise UsageError(
            f"{word} cannot be changed during a chat", f"`chatcli config set {word} VALUE`"
        )
    meant = nearest(short, known)
    raise UsageError(
        f"unknown key {visible_line(word)}",
        f"Did you mean {meant}?" if meant else "/set shows the keys",
    )


def _current(chat: Chat, key: Key) -> Value:
    group, _, leaf = key.name.rpartition(".")
    if group == "sampling":
        merged = chat.conversation.style.sampling.over(chat.session.sampling)
        value: Value = getattr(merged, leaf)
        return value
    if key.name == "reply.max_tokens":
        return chat.conversation.style.max_tokens
    if key.name == "context.overflow":
        return chat.conversation.style.overflow
    return value_of(chat.settings, key.name)


def _listing(chat: Chat) -> str:
    lines = []
    for short, key in settable().items():
        value = _current(chat, key)
        unset = value in (None, ())
        if unset and key.name.startswith("sampling.") and key.name not in _OFTEN:
            continue
        lines.append(f"  {short:<18}  {'(default)' if unset else visible_line(source(value))}")
    return "\n".join([*lines, f"  {'usage':<18}  {'true' if chat.usage else 'false'}"])


def set_(chat: Chat, argument: str) -> None:
    """Show what is set, or set one key for the rest of this chat."""
    word, _, text = argument.partition(" ")
    if word == "parameter":  # ollama's form: /set parameter temperature 0.5
        word, _, text = text.strip().partition(" ")
    if word == "system":
        system(chat, text.strip())
        return
    if not word:
        chat.out(_listing(chat))
        return
    if word == "usage":
        usage = from_text(Key("usage", "bool", optional=False), text)
        chat.usage = bool(usage)
        chat.note(f"usage = {source(usage)}")
        return
    key = _key(word)
    if not text.strip():
        chat.out(f"{word} {visible_line(source(_current(chat, key)))}")
        return
    value = from_text(key, text.strip())
    _apply(chat, key, value)
    chat.note(f"{word} = {visible_line(source(value))}")


def _apply(chat: Chat, key: Key, value: Value) -> None:
    group, _, leaf = key.name.rpartition(".")
    conversation = chat.conversation
    if group == "sampling":
        # The style (flags, settings file) wins over the session: what is said here must
        # win over both, and must be kept with the session.
        unset = () if leaf == "logit_bias" else None
        mine: dict[str, Value] = {leaf: unset if value is None else value}
        style = replace(conversation.style.sampling, **{leaf: unset})  # type: ignore[arg-type]  # checked by from_text
        conversation.style = replace(conversation.style, sampling=style)
        sampling = replace(chat.session.sampling, **mine)  # type: ignore[arg-type]  # checked by from_text
        conversation.set_sampling(sampling)
    elif key.name in _OTHER:
        change: dict[str, Value] = {leaf: value}
        conversation.style = replace(conversation.style, **change)  # type: ignore[arg-type]  # checked by from_text
    else:
        change = {leaf: value}
        terminal = replace(chat.settings.terminal, **change)  # type: ignore[arg-type]  # checked by from_text
        chat.settings = replace(chat.settings, terminal=terminal)
        if leaf in {"color", "theme"}:
            chat.env = Env.current(terminal.color, terminal.theme)


def show(chat: Chat, argument: str) -> None:
    """Show the model, the system prompt, the settings, or all of them."""
    session = chat.session
    parts: Mapping[str, Callable[[], str]] = {
        "model": lambda: session.model,
        "system": lambda: visible(session.system) or "(none)",
        "settings": lambda: _listing(chat).lstrip(),
    }
    if argument in parts:
        chat.out(parts[argument]())
        return
    if argument:
        raise UsageError(
            f"/show knows no {visible_line(argument)!r}", "/show model, system or settings"
        )
    chat.out(f"model     {session.model}\nchat      {session.id}  {visible_line(session.title)}")
    chat.out(f"system    {parts['system']()}\nsettings\n{_listing(chat)}")


COMMANDS = (
    Command("model", "[NAME]", "Show the models, or change to another", model, completes="model"),
    Command("system", "[TEXT]", 'Show or change the system prompt; "" drops it', system),
    Command("set", "[KEY [VALUE]]", "Show or set sampling and terminal keys",
            set_, completes="key"),
    Command("show", "[WHAT]", "Show model, system or settings",
            show, completes="show"),
)  # fmt: skip
