"""The model of a command: the one named, the one chosen, or on a first run the one offered."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from chatcli.catalogue.ensure import ResolvedModel, default_reference, ensure_model
from chatcli.catalogue.progress import Say, readable_bytes
from chatcli.core.printable import visible_line
from chatcli.settings import Settings

if TYPE_CHECKING:
    from chatcli.catalogue.first_run import Machine, Offer


def ready_model(reference: str | None, settings: Settings) -> ResolvedModel:
    """Return a model that can be loaded; whatever happens on the way is shown on stderr.

    On a first run in a terminal the user is asked; elsewhere the embedded model is taken.

    Raises:
        ModelError, DownloadError, StorageError: as `ensure_model`.
    """
    from chatcli.cli.progress import DownloadDisplay

    with DownloadDisplay() as display:
        name = reference or default_reference(settings)
        if name is None:
            interactive = sys.stdin.isatty() and sys.stderr.isatty()
            name = first_model(settings, interactive=interactive, say=display.say)
        return ensure_model(name, settings, say=display.say, progress=display)


def first_model(
    settings: Settings,
    *,
    interactive: bool,
    say: Say,
    read_line: Callable[[], str] | None = None,
    look: "Callable[[str], Machine] | None" = None,
) -> str:
    """Return the name of the model to begin with; ask only where somebody can answer.

    The answer is kept as `model` in the user's settings. `read_line` reads it (default:
    stdin), `look` finds the facts of the machine (default: this one's).
    """
    from chatcli.catalogue.entries import embedded_entry
    from chatcli.catalogue.first_run import make_offer
    from chatcli.catalogue.load import load_entries
    from chatcli.catalogue.machine import this_machine

    entries = load_entries()
    if not interactive or settings.download.offline:
        return embedded_entry(entries).name
    machine = (look or this_machine)(settings.download.hub)
    offer = make_offer(entries, machine)
    if not machine.hub_reachable:
        say("The model hub cannot be reached: beginning with the embedded model")
    if offer.better is None:
        return offer.embedded.name
    name = _ask(offer, say, read_line or sys.stdin.readline)
    from chatcli.settings.write import write_user_value

    write_user_value("model", name)
    say(f"{name} is your model from now on: `chatcli config set model NAME` changes it")
    return name


def _ask(offer: "Offer", say: Say, read_line: Callable[[], str]) -> str:
    choices = [one for one in (offer.embedded, offer.better) if one]
    say("No model is here yet. To begin with:")
    for number, entry in enumerate(choices, 1):
        size = readable_bytes(entry.n_bytes)
        say(f"  {number}  {entry.name:<20} {size:>8}   {entry.notes}")
    while True:
        sys.stderr.write("Which one? [1] ")
        sys.stderr.flush()
        line = read_line()
        answer = line.strip()
        if answer in ("", "1", choices[0].name):
            if not line:
                say("")
            return choices[0].name
        if answer in ("2", choices[1].name):
            return choices[1].name
        say(f"Type 1 or 2, not {visible_line(answer)}")
