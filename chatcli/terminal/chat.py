"""A chat at the terminal, whoever feeds it lines: its state, and how one turn is run.

Slash commands (`chatcli.terminal.slash`) change it; the loops (`chatcli.terminal.repl`) feed
it. It knows nothing about how a line is typed.
"""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from chatcli.core.cancel import Cancel
from chatcli.core.errors import ChatcliError
from chatcli.core.event import Delta, Event, Finished
from chatcli.core.message import Document, Message, Part, Text
from chatcli.core.ports import Measure, SessionStore
from chatcli.core.printable import model_label, visible, visible_line
from chatcli.core.session import FinishReason, Session, Turn
from chatcli.orchestrator.conversation import Conversation
from chatcli.settings import Settings
from chatcli.terminal.env import Env
from chatcli.terminal.interrupt import stop_on_signals
from chatcli.terminal.loading import Loading
from chatcli.terminal.painter import Margin
from chatcli.terminal.render import Look, show
from chatcli.terminal.theme import DIM, RESET
from chatcli.terminal.usage import usage_line

_RED = "\x1b[31m"

_ENDED: Mapping[FinishReason, str] = {
    "cancelled": "Stopped; the part shown is kept. /continue goes on, /regen tries again.",
    "length": "The reply reached its limit. /continue goes on.",
    "loop": "Ended, for it repeated itself. /regen tries again.",
}


@dataclass(slots=True, kw_only=True)
class Chat:
    """All that the commands can read and change.

    `documents` go with the next question. `editing` is the turn whose place the next
    question takes; `prefill` is text for the next prompt line. `busy` is a session that
    another process holds and that `/fork` copies. `kept` is false when nothing is stored.
    `prepare` does, in the foreground, what a model needs before it is loaded: a download.
    """

    conversation: Conversation
    store: SessionStore
    loading: Loading
    settings: Settings
    env: Env
    models: Callable[[], Sequence[str]] = tuple
    prepare: Callable[[str], object] = str
    interactive: bool = True
    usage: bool = False
    kept: bool = True
    documents: list[Document] = field(default_factory=list)
    editing: Turn | None = None
    prefill: str = ""
    busy: Session | None = None
    measure: Measure | None = None
    uncounted: bool = True
    last: Turn | None = None
    leaving: bool = False
    exit_code: int = 0
    dots_explained: bool = False

    # -- saying ----------------------------------------------------------------------

    def out(self, text: str) -> None:
        """Write the result of a command to stdout."""
        self.env.stdout.write(f"{visible(text)}\n")
        self.env.stdout.flush()

    def note(self, text: str) -> None:
        """Write a remark to stderr, dim."""
        self._err(text, DIM)

    def fail(self, error: ChatcliError) -> None:
        """Write an error to stderr; the exit code remembers it where lines come from a pipe."""
        self._err(f"{'error' if self.interactive else 'chatcli'}: {error}", _RED)
        if not self.interactive:
            self.exit_code = self.exit_code or 1

    def _err(self, text: str, style: str) -> None:
        text = visible(text)
        if self.env.stderr_tty:
            text = _wrapped(text, self.env.width)
        styled = f"{style}{text}{RESET}" if self.env.color_err else text
        self.env.stderr.write(f"{styled}\n")
        self.env.stderr.flush()

    def leave(self, code: int = 0) -> None:
        """End the chat after this line."""
        self.leaving = True
        self.exit_code = code or self.exit_code

    # -- talking ---------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The session being talked to."""
        return self.conversation.session

    @property
    def look(self) -> Look:
        """How replies look, as set now."""
        terminal = self.settings.terminal
        return Look(markdown=terminal.markdown, reasoning=terminal.reasoning, theme=self.env.theme)

    def send(self, text: str) -> None:
        """Ask a question, with the documents that wait for one."""
        editing, self.editing = self.editing, None
        if editing is None:
            parts: list[Part] = [*self.documents]
        else:
            parts = [part for part in editing.asked[0].parts if isinstance(part, Document)]
        if text:
            parts.append(Text(text))
        message = Message("user", tuple(parts))
        if editing is not None:
            self.turn(lambda cancel: self.conversation.edit(message, cancel, editing))
        elif self.turn(lambda cancel: self.conversation.ask(message, cancel)):
            self.documents.clear()

    def ready(self) -> None:
        """Wait for the chat's model.

        Raises:
            ChatcliError: it cannot be loaded.
            KeyboardInterrupt: the user would not wait.
        """
        self.load(self.session.model)

    def load(self, model: str) -> None:
        """Wait for any model. Raises as `ready` does."""
        if not self.loading.ready(model) and not self.loading.loading(model):
            self.prepare(model)
        self.loading.wait(model, lambda: self._loading_line(model))

    def preload(self) -> None:
        """Begin to load the chat's model.

        At a prompt an error is told, and met again at the first use: it may be mended there.

        Raises:
            ChatcliError: without a prompt, for a model that cannot be had.
        """
        model = self.session.model
        try:
            self.prepare(model)
        except ChatcliError as error:
            if not self.interactive:
                raise
            self.fail(error)
        else:
            self.loading.start(model)

    @contextmanager
    def _loading_line(self, model: str) -> Iterator[None]:
        margin = Margin(self.env, self.look)
        margin.passing(f"loading {model_label(model)} ...")
        try:
            yield
        finally:
            margin.erase()

    def turn(self, start: Callable[[Cancel], Iterator[Event]]) -> Turn | None:
        """Run one turn and show it. None: the user would not wait, and nothing was said.

        SIGINT stops the reply; SIGTERM and SIGHUP stop it and end the chat. In each case
        what was shown is kept.

        Raises:
            ChatcliError: it failed.
        """
        try:
            self.ready()
        except KeyboardInterrupt:
            self.note("Not asked: the model is still being loaded.")
            return None
        cancel = Cancel()
        events = start(cancel)
        with stop_on_signals(cancel) as stop:
            try:
                turn: Turn | None = show(events, self.env, self.look)
            except (KeyboardInterrupt, OSError) as error:
                # Asked twice, or the terminal is gone: end by the normal door, unseen.
                cancel.set()
                turn = _drain(events)
                if isinstance(error, OSError) and not stop.code:
                    raise
        if stop.code and (not self.interactive or stop.code != 130):
            self.leave(stop.code)
        if turn is not None:
            self._after(turn)
        return turn

    def _after(self, turn: Turn) -> None:
        self.last = turn
        self.remeasure()
        if self.usage:
            self.note(usage_line(turn, self.session.model))
        if self.interactive and turn.finish in _ENDED:
            said = bool(turn.reply.text or turn.reply.reasoning)
            self.note(_ENDED[turn.finish] if said else "Stopped. /regen tries again.")
        self.gap()

    def gap(self) -> None:
        """Leave a blank line between a reply and the next prompt."""
        if self.interactive and self.env.stdout_tty:
            self.env.stdout.write("\n")
            self.env.stdout.flush()

    def remeasure(self) -> None:
        """Count the tokens of the chat again, if that needs no waiting."""
        self.measure = None
        self.uncounted = not self.loading.ready(self.session.model)
        if not self.uncounted:
            # Whatever is wrong with the model is told when it is asked, not by a count.
            with suppress(ChatcliError):
                self.measure = self.conversation.measure()

    # -- moving ----------------------------------------------------------------------

    def moved(self) -> None:
        """Forget what belonged to the place in the tree that was left."""
        self.editing = None
        self.busy = None
        path = self.conversation.path()
        self.last = path[-1] if path else None
        self.remeasure()

    def show_last(self) -> None:
        """Show where the chat stands: a header, and the last exchange."""
        path = self.conversation.path()
        title = visible_line(self.session.title) or "untitled"
        turns = f"{len(path)} turn{'' if len(path) == 1 else 's'}"
        self.note(f"{title} · {turns} · {model_label(self.session.model)} · {self.session.id[:8]}")
        if path:
            self.note("\n".join(f"> {line}" for line in question(path[-1]).splitlines()))
            show(replay(path[-1]), self.env, replace(self.look, progress=False))
            self.gap()


def _wrapped(text: str, width: int) -> str:
    """Break long lines between words; a long word (a path) is left whole for copying."""
    return "\n".join(
        textwrap.fill(
            line,
            max(20, width),
            replace_whitespace=False,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )


def question(turn: Turn) -> str:
    """Return what was asked, with its documents by name."""
    names = [
        f"[{visible_line(part.name)}]"
        for message in turn.asked
        for part in message.parts
        if isinstance(part, Document)
    ]
    text = "\n".join(message.text for message in turn.asked)
    return visible(" ".join([*names, text]) if names else text)


def replay(turn: Turn) -> Iterator[Event]:
    """Yield a kept turn as the events that show it again."""
    for part in turn.reply.parts:
        if isinstance(part, Text) and part.text:
            yield Delta("text", part.text)
    yield Finished(turn)


def _drain(events: Iterator[Event]) -> Turn | None:
    for event in events:
        if isinstance(event, Finished):
            return event.turn
    return None
