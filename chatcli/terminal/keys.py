"""What the keys do at the prompt, beyond prompt_toolkit's own emacs and vi bindings."""

import array
import fcntl
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import emacs_mode, has_focus, vi_insert_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from chatcli.core.errors import ChatcliError
from chatcli.core.printable import visible_line
from chatcli.terminal.slash import block_open

_EARLY_S = 2.0
"""Keys typed before the first prompt are all read by then."""


def n_waiting(fd: int) -> int:
    """Return how many bytes can be read from `fd` now."""
    held = array.array("i", [0])
    try:
        fcntl.ioctl(fd, termios.FIONREAD, held)
    except OSError:
        return 0
    return held[0]


class Cleared(Exception):
    """Ctrl-C on a line that held something else than text: an edit to be given up."""


class Signalled(Exception):
    """SIGTERM or SIGHUP came while the prompt was shown; `code` is the exit code for it."""

    def __init__(self, number: Signals) -> None:
        super().__init__(number.name)
        self.code = 128 + number


@dataclass(slots=True)
class Keys:
    """What the bindings share with the prompt. `tip` stands in the status line till a key."""

    editor: Callable[[], list[str]]
    tip: str = ""
    in_editor: bool = False
    ahead: int = 0
    first_shown: float = 0.0
    editing: bool = False

    def bindings(self) -> KeyBindings:
        """Return the bindings; in the search line the library's own hold."""
        keys = KeyBindings()
        at_line = has_focus(DEFAULT_BUFFER)
        keys.add("enter", filter=at_line)(_enter)
        keys.add("c-j", filter=at_line)(self._ctrl_j)
        keys.add("escape", "enter", filter=at_line & (emacs_mode | vi_insert_mode))(_new_line)
        keys.add("c-c", filter=at_line)(self._interrupt)
        keys.add("<sigint>")(self._interrupt)
        keys.add("c-g", filter=at_line)(self._open_editor)
        keys.add("c-x", "c-e", filter=at_line & emacs_mode)(self._open_editor)
        return keys

    def _ctrl_j(self, event: KeyPressEvent) -> None:
        early = self.ahead > 0 and time.monotonic() - self.first_shown < _EARLY_S
        (_enter if early else _new_line)(event)

    def shown(self, app: Application[str]) -> None:
        """Note what was typed before the first prompt, while the terminal was not ours.

        It turned Enter into Ctrl-J: among the first `ahead` keys, Ctrl-J means Enter.
        """
        if self.first_shown:
            return
        self.first_shown = time.monotonic()
        self.ahead = n_waiting(app.input.fileno())
        app.key_processor.after_key_press += lambda _: self._key_pressed()

    def _key_pressed(self) -> None:
        self.ahead -= 1

    def _interrupt(self, event: KeyPressEvent) -> None:
        if self.in_editor:
            return  # the editor shares our terminal: this Ctrl-C was meant for it
        buffer = event.app.current_buffer
        if self.editing:
            event.app.exit(exception=Cleared())
        elif buffer.text:
            buffer.reset()
        else:
            self.tip = "Ctrl-D or /bye leaves"
            event.app.invalidate()

    def _open_editor(self, event: KeyPressEvent) -> None:
        event.app.create_background_task(self._edit(event.app, event.app.current_buffer))

    async def _edit(self, app: Application[str], buffer: Buffer) -> None:
        self.in_editor = True
        try:
            text = await run_in_terminal(
                lambda: edit_text(buffer.text, self.editor()), in_executor=True
            )
            buffer.document = Document(text, len(text))
        except (ChatcliError, OSError) as error:
            self.tip = visible_line(str(error))
        finally:
            self.in_editor = False
            app.invalidate()


def edit_text(text: str, command: list[str]) -> str:
    """Return `text` as the editor left it; unchanged when the editor fails.

    Raises:
        ChatcliError: the editor ended with a failure.
        OSError: it could not be started, or the file could not be read back.
    """
    with tempfile.TemporaryDirectory(prefix="chatcli-") as folder:
        path = Path(folder, "message.md")
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([*command, str(path)], check=False)
        if done.returncode:
            raise ChatcliError(f"{command[0]} ended with status {done.returncode}")
        return path.read_text(encoding="utf-8", errors="replace").removesuffix("\n")


def _enter(event: KeyPressEvent) -> None:
    buffer = event.app.current_buffer
    state = buffer.complete_state
    if state is not None and state.current_completion is not None:
        # The menu is open on a choice: take it, and let a second Enter send.
        buffer.complete_state = None
    elif block_open(buffer.text):
        buffer.insert_text("\n")
    else:
        buffer.validate_and_handle()


def _new_line(event: KeyPressEvent) -> None:
    event.app.current_buffer.insert_text("\n")
