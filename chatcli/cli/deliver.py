"""From a turn's events to what a one-shot prints: as it comes, when it is whole, or aside.

stdout gets the answer and nothing else. Whoever stops listening, the turn is recorded as far
as it was shown.
"""

import io
from collections.abc import Iterator
from dataclasses import replace

from chatcli.core.cancel import Cancel
from chatcli.core.event import Delta, Event, Finished
from chatcli.core.session import Turn
from chatcli.terminal.env import Env
from chatcli.terminal.theme import Look


def show_or_drain(events: Iterator[Event], cancel: Cancel, env: Env, look: Look) -> Turn:
    """Show a turn. If stdout fails, end the turn by its own door, then tell.

    Raises:
        BrokenPipeError: the reader has gone.
        OSError: stdout cannot be written, as on a full disk.
    """
    from chatcli.terminal.render import show

    try:
        return show(events, env, look)
    except OSError:
        cancel.set()
        for _ in events:
            pass
        raise


def whole(events: Iterator[Event]) -> Iterator[Event]:
    """Hold the reply back until it is complete: then it comes in one piece of each kind."""
    held: list[Delta] = []
    for event in events:
        if isinstance(event, Delta):
            if held and held[-1].kind == event.kind:
                held[-1] = Delta(event.kind, held[-1].text + event.text)
            else:
                held.append(event)
            continue
        if isinstance(event, Finished):
            yield from held
        yield event


def aside(events: Iterator[Event], env: Env, look: Look) -> Turn:
    """Let the reply be made; show only what goes to stderr."""
    from chatcli.terminal.plain import write

    nowhere = replace(env, stdout=io.StringIO(), stdout_tty=False, attributes=False, cursor=False)
    return write(events, nowhere, look)
