"""The prompt line: prompt_toolkit set up for a chat. The one module that makes a session of it."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style

from chatcli.settings import TerminalSettings
from chatcli.settings.editor import editor_command
from chatcli.terminal.complete import Sources, candidates
from chatcli.terminal.history import LineHistory
from chatcli.terminal.keys import Keys, Signalled

PROMPT = "> "

_ESCAPE_S = 0.3
"""How long a lone Esc waits for the rest of a key sequence; the library's 1 s feels stuck."""

_STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "bottom-toolbar": "noreverse",
        "bottom-toolbar.text": "dim",
        "completion-menu": "noreverse bg:default fg:default",
        "completion-menu.completion": "noreverse bg:default fg:default",
        "completion-menu.completion.current": "reverse",
        "completion-menu.meta.completion": "noreverse bg:default fg:default dim",
        "completion-menu.meta.completion.current": "reverse",
        "scrollbar.background": "bg:default",
        "scrollbar.button": "reverse dim",
    }
)


class _Completer(Completer):
    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        del complete_event
        for found in candidates(document.text_before_cursor, self._sources):
            yield Completion(found.text, -found.length, display_meta=found.meta)


def _typing_a_command() -> bool:
    """Return whether a menu should come by itself; it takes room under the line."""
    text = get_app().current_buffer.text
    return text.startswith("/") and "\n" not in text


class Line:
    """Reads one message or command at a time.

    `status` gives the status line for a width, `settings` what holds now.
    """

    def __init__(
        self,
        *,
        sources: Sources,
        status: Callable[[int], str],
        settings: Callable[[], TerminalSettings],
        history: LineHistory,
        color: bool,
        output: Output | None = None,
    ) -> None:
        self._status = status
        self._settings = settings
        self._keys = Keys(lambda: editor_command(settings().editor, os.environ))
        self._session: PromptSession[str] = PromptSession(
            [("class:prompt", PROMPT)],
            prompt_continuation=" " * len(PROMPT),
            history=history,
            completer=_Completer(sources),
            complete_while_typing=Condition(_typing_a_command),
            key_bindings=self._keys.bindings(),
            enable_suspend=True,
            style=_STYLE,
            color_depth=None if color else ColorDepth.DEPTH_1_BIT,
            include_default_pygments_style=False,
            output=output,
        )
        self._session.app.timeoutlen = _ESCAPE_S
        self._session.app.ttimeoutlen = _ESCAPE_S
        self._session.default_buffer.on_text_changed += lambda _: self._typed()

    def _typed(self) -> None:
        self._keys.tip = ""

    def _toolbar(self) -> StyleAndTextTuples:
        width = get_app().output.get_size().columns - 1
        text = self._keys.tip or (self._status(width) if self._settings().status_line else "")
        return [("", text[: max(0, width)])]

    def invalidate(self) -> None:
        """Draw the status line anew; may be called from any thread."""
        if self._session.app.is_running:
            self._session.app.invalidate()

    def read(self, prefill: str = "", *, editing: bool = False) -> str:
        """Return what was typed, as it was typed.

        Raises:
            EOFError: Ctrl-D on an empty line, or the terminal is gone.
            Cleared: Ctrl-C while `editing`.
            Signalled: SIGTERM or SIGHUP.
        """
        self._keys.editing = editing
        vi = self._settings().editing == "vi"
        self._session.editing_mode = EditingMode.VI if vi else EditingMode.EMACS
        self._session.bottom_toolbar = self._toolbar
        with _kept_handlers():
            return self._session.prompt(default=prefill, pre_run=self._on_signals)

    def _on_signals(self) -> None:
        """Leave the prompt by its normal door, so that the terminal is restored."""
        self._keys.shown(self._session.app)
        loop = asyncio.get_running_loop()
        # RuntimeError, ValueError: not the main thread; no signal comes here then.
        with contextlib.suppress(RuntimeError, ValueError):
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._signalled, number)

    def _signalled(self, number: signal.Signals) -> None:
        app = self._session.app
        if app.is_running and app.future is not None and not app.future.done():
            app.exit(exception=Signalled(number))


@contextlib.contextmanager
def _kept_handlers() -> Iterator[None]:
    """Put back the handlers that the event loop replaces; a closed loop leaves the default."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)
