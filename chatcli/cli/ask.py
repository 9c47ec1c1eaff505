"""`chatcli "question"`: one question, one answer, in a pipe or in a terminal."""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chatcli.app import App
from chatcli.cli.answer import as_json, extracted
from chatcli.cli.inputs import question
from chatcli.cli.open import open_app, start
from chatcli.cli.options import Chosen, _option, takes
from chatcli.core.cancel import Cancel
from chatcli.core.errors import ConstraintError, CutOff, InputError, UsageError
from chatcli.core.event import Event, Finished
from chatcli.core.message import Message
from chatcli.core.ports import Constraint
from chatcli.core.session import Turn
from chatcli.orchestrator.conversation import Conversation

if TYPE_CHECKING:
    from chatcli.terminal.env import Env


@dataclass(frozen=True, kw_only=True)
class Asked(Chosen):
    """What was typed."""

    words: Annotated[
        list[str] | None, typer.Argument(metavar="[QUESTION]...", show_default=False)
    ] = None
    attach: Annotated[
        list[str] | None, _option("-a", "--attach", text="A text file; - is stdin (repeatable).")
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
        _option("--schema", text="JSON schema (file or text) that the answer must match."),
    ] = None
    grammar: Annotated[
        str | None, _option("--grammar", text="GBNF grammar file that the answer must match.")
    ] = None
    no_stream: Annotated[
        bool, _option("--no-stream", text="Print the answer when it is complete.")
    ] = False
    quiet: Annotated[bool, _option("-q", "--quiet", text="Nothing on stderr but errors.")] = False

    @property
    def at_once(self) -> bool:
        """Whether nothing may be printed before the reply is complete."""
        constrained = self.schema is not None or self.grammar is not None
        return constrained or self.extract or self.extract_last or self.as_json or self.no_stream


def register(app: typer.Typer) -> None:
    """Add `ask` to the tree."""
    app.command("ask")(takes(Asked, run))


def run(asked: Asked) -> int:
    """Ask one question; stdin, if piped, goes before it."""
    asked.check()
    if asked.extract and asked.extract_last:
        raise UsageError("-x and --xl cannot go together")
    constraint = read_constraint(asked.schema, asked.grammar)
    app = open_app(asked)
    try:
        conversation = _conversation(app, asked)
        app.preload(conversation.session.model)
        message = question(asked.words or [], asked.attach or [])
        style = replace(conversation.style, constraint=constraint, stop=tuple(asked.stop or ()))
        conversation.style = style
        return _answer(conversation, message, asked, app)
    finally:
        app.close()


def _conversation(app: App, asked: Asked) -> Conversation:
    conversation = app.conversation()
    start(app, conversation, asked, kind="ask")
    return conversation


def read_constraint(schema: str | None, grammar: str | None) -> Constraint | None:
    """Return the constraint named on the command line.

    Raises:
        UsageError: both were given.
        InputError: a file cannot be read.
        ConstraintError: an inline schema is not JSON.
    """
    if schema is not None and grammar is not None:
        raise UsageError("--schema and --grammar cannot go together")
    if grammar is not None:
        return Constraint("grammar", _text(grammar))
    if schema is None:
        return None
    text = schema if schema.lstrip().startswith(("{", "[")) else _text(schema)
    try:
        json.loads(text)
    except ValueError as error:
        raise ConstraintError(f"the schema is not JSON: {error}") from error
    return Constraint("schema", text)


def _text(path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read {path}: {reason}") from error


def _answer(conversation: Conversation, message: Message, asked: Asked, app: App) -> int:
    from chatcli.terminal.env import Env
    from chatcli.terminal.interrupt import stop_on_signals

    terminal = app.settings.terminal
    env = Env.current(terminal.color, terminal.theme)
    cancel = Cancel()
    with stop_on_signals(cancel) as stopped:
        events = conversation.ask(message, cancel)
        if asked.at_once:
            turn = _quietly(events, asked, env)
            _print_whole(turn, conversation, asked, stopped.code)
        else:
            turn = _show(events, cancel, asked, app, env)
    if asked.usage:
        from chatcli.terminal.usage import usage_line

        typer.echo(usage_line(turn, turn.route.model), err=True)
    return stopped.code or _exit_code(turn)


def _exit_code(turn: Turn) -> int:
    if turn.finish in ("length", "loop"):
        return CutOff.exit_code
    return 3 if turn.finish == "blocked" else 0


def _show(events: Iterator[Event], cancel: Cancel, asked: Asked, app: App, env: "Env") -> Turn:
    """Print the reply as it comes. If the reader goes away, keep what it was given."""
    from chatcli.terminal.render import show
    from chatcli.terminal.theme import Look

    terminal = app.settings.terminal
    look = Look(
        markdown=terminal.markdown,
        reasoning=terminal.reasoning and not asked.quiet,
        quiet=asked.quiet,
        theme=env.theme,
        progress=not asked.quiet,
    )
    try:
        return show(events, env, look)
    except BrokenPipeError:
        cancel.set()
        with suppress(StopIteration):
            while True:
                event = next(events)
                if isinstance(event, Finished):
                    break
        raise


def _quietly(events: Iterator[Event], asked: Asked, env: "Env") -> Turn:
    """Let the reply be made; show only what goes to stderr."""
    import io

    from chatcli.terminal.plain import write
    from chatcli.terminal.theme import Look

    aside = replace(env, stdout=io.StringIO(), stdout_tty=False, attributes=False, cursor=False)
    look = Look(reasoning=False, quiet=asked.quiet, progress=not asked.quiet)
    return write(events, aside, look)


def _print_whole(turn: Turn, conversation: Conversation, asked: Asked, stopped: int) -> None:
    constrained = asked.schema is not None or asked.grammar is not None
    if constrained and turn.finish != "stop":
        if stopped:
            return
        raise CutOff(
            f"the answer was cut ({turn.finish}) before it was complete; nothing was printed",
            "Raise --max-tokens",
        )
    if asked.as_json:
        text = json.dumps(as_json(turn, conversation.session), ensure_ascii=False)
    elif asked.extract or asked.extract_last:
        text = extracted(turn.reply.text, "first" if asked.extract else "last")
    else:
        text = turn.reply.text
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    sys.stdout.flush()
