"""`chatcli "question"`: one question, one answer, in a pipe or in a terminal."""

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from chatcli.cli.options import Chosen, _option, takes
from chatcli.core.errors import CutOff, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatcli.app import App
    from chatcli.core.cancel import Cancel
    from chatcli.core.event import Event
    from chatcli.core.message import Message
    from chatcli.core.session import Turn
    from chatcli.orchestrator.conversation import Conversation
    from chatcli.terminal.env import Env
    from chatcli.terminal.theme import Look


@dataclass(frozen=True, kw_only=True)
class Asked(Chosen):
    """What was typed."""

    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUESTION", hidden=True),
    ] = None
    attach: Annotated[
        list[str] | None,
        _option("-a", "--attach", text="A text file; - is stdin (repeatable).", metavar="FILE"),
    ] = None
    extract: Annotated[
        bool, _option("-x", "--extract", text="Print the first code block only.")
    ] = False
    extract_last: Annotated[bool, _option("--xl", text="Print the last code block only.")] = False
    as_json: Annotated[
        bool, _option("--json", text="Print one JSON object: answer, ids, usage, finish.")
    ] = False
    schema: Annotated[
        str | None,
        _option(
            "--schema", text="JSON schema (file or text) that it must match.", metavar="SCHEMA"
        ),
    ] = None
    grammar: Annotated[
        str | None, _option("--grammar", text="GBNF grammar that it must match.", metavar="FILE")
    ] = None
    no_stream: Annotated[
        bool, _option("--no-stream", text="Print the answer when it is complete.")
    ] = False
    quiet: Annotated[bool, _option("-q", "--quiet", text="Nothing on stderr but errors.")] = False

    @property
    def constrained(self) -> bool:
        """Whether the answer must match something: a part of it is then worth nothing."""
        return self.schema is not None or self.grammar is not None

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            UsageError: they do.
        """
        super().check()
        if self.extract and self.extract_last:
            raise UsageError("-x and --xl cannot go together", "Leave out one of them")
        if self.as_json and (self.extract or self.extract_last):
            raise UsageError(
                "--json and -x or --xl cannot go together", "The JSON has the whole answer"
            )
        if (self.extract or self.extract_last) and (self.schema or self.grammar):
            raise UsageError(
                "-x and --xl cannot go with --schema or --grammar",
                "A constrained answer has no code blocks: it is all data",
            )


def register(app: typer.Typer) -> None:
    """Add `ask` to the tree."""
    app.command("ask")(takes(Asked, run))


def run(asked: Asked) -> int:
    """Ask one question; stdin, if piped, goes before it."""
    asked.check()
    # The rest of the program is imported here: `chatcli ask --help` needs none of it.
    from chatcli.cli.constraint import read_constraint
    from chatcli.cli.inputs import question
    from chatcli.cli.open import open_app, start

    constraint = read_constraint(asked.schema, asked.grammar)
    app = open_app(asked)
    try:
        if not (asked.go_on or asked.cid is not None):
            # The model loads while the store is opened and stdin is read.
            app.preload(app.default_model())
        message = question(asked.words or [], asked.attach or [])
        conversation = app.conversation()
        start(app, conversation, asked, kind="ask")
        _name(conversation, message)
        conversation.style = replace(
            conversation.style, constraint=constraint, stop=tuple(asked.stop or ())
        )
        return _answer(conversation, message, asked, app)
    finally:
        app.close()


def _name(conversation: "Conversation", message: "Message") -> None:
    """Take the title from the words, not from the document that stands before them."""
    if message.text.strip() and not conversation.session.title and not conversation.path():
        from chatcli.sessions.titles import title_from

        conversation.rename(title_from(message.text))


def _answer(conversation: "Conversation", message: "Message", asked: Asked, app: "App") -> int:
    from chatcli.cli.answer import CODES
    from chatcli.core.cancel import Cancel
    from chatcli.terminal.env import Env
    from chatcli.terminal.interrupt import stop_on_signals

    env = Env.current(app.settings.terminal.color, app.settings.terminal.theme)
    # Loading can be interrupted at once: there is nothing yet that must be kept.
    app.engines.engine(conversation.session.model)
    cancel = Cancel()
    with stop_on_signals(cancel) as stopped:
        events = conversation.ask(message, cancel)
        turn = _delivered(events, cancel, env, asked, app)
        if not stopped.code:
            _print_whole(turn, conversation, asked, env)
    _remark(turn, asked, env)
    return stopped.code or CODES[turn.finish]


def _look(asked: Asked, app: "App", env: "Env") -> "Look":
    from chatcli.terminal.theme import Look

    terminal = app.settings.terminal
    return Look(
        markdown=terminal.markdown,
        reasoning=terminal.reasoning and not asked.quiet and not asked.as_json,
        quiet=asked.quiet,
        theme=env.theme,
        progress=not asked.quiet,
    )


def _aside(asked: Asked) -> bool:
    """Whether something else than the reply itself is printed, or it must be whole."""
    return asked.constrained or asked.as_json or asked.extract or asked.extract_last


def _delivered(
    events: "Iterator[Event]", cancel: "Cancel", env: "Env", asked: Asked, app: "App"
) -> "Turn":
    from chatcli.cli.deliver import aside, show_or_drain, whole

    look = _look(asked, app, env)
    if _aside(asked):
        return aside(events, env, look)
    return show_or_drain(whole(events) if asked.no_stream else events, cancel, env, look)


def _print_whole(turn: "Turn", conversation: "Conversation", asked: Asked, env: "Env") -> None:
    """Print what is printed in one piece.

    Raises:
        CutOff: it is not complete, and worth nothing so.
    """
    from chatcli.cli.answer import CODES, as_json, extracted
    from chatcli.core.printable import visible
    from chatcli.terminal.plain import write_text

    if not _aside(asked):
        return
    if asked.constrained and CODES[turn.finish] != 0:
        raise CutOff(
            f"the answer was cut ({turn.finish}) before it was complete; nothing was printed",
            "Raise --max-tokens",
        )
    if asked.as_json:
        kept = not asked.no_log
        text = json.dumps(as_json(turn, conversation.session, kept=kept), ensure_ascii=False)
    elif asked.extract or asked.extract_last:
        text = extracted(turn, "first" if asked.extract else "last")
    else:
        text = turn.reply.text
    write_text(env.stdout, (visible(text) if env.stdout_tty else text).rstrip("\n") + "\n")


def _remark(turn: "Turn", asked: Asked, env: "Env") -> None:
    from chatcli.cli.answer import REMARKS
    from chatcli.terminal.plain import write_text

    if (said := REMARKS.get(turn.finish)) and not asked.quiet:
        kept = turn.finish == "length" and not asked.no_log
        write_text(env.stderr, f"{said}{', -c goes on' if kept else ''}\n")
    if asked.usage:
        from chatcli.terminal.usage import usage_line

        write_text(env.stderr, f"{usage_line(turn, turn.route.model)}\n")
