"""What the shell offers behind an option, and how the shell's question is understood.

Called by the shell's completion only, so imports stand in the bodies. Whatever is wrong with
a store or a file, nothing is offered and nothing is said: it would land in the user's line.
"""

import re
from collections.abc import Callable, Container, MutableMapping
from contextlib import suppress

from chatcli.core.errors import ChatcliError


def words(*choices: str) -> Callable[[str], list[str]]:
    """Return a completion of these words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in choices if word.startswith(incomplete)]

    return complete


def option_keys(incomplete: str) -> list[str]:
    """Return the keys of `-o` that begin so: sampling parameters by their short names."""
    from chatcli.settings.keys import all_keys

    names = [key.removeprefix("sampling.") for key in all_keys()]
    return [name for name in names if name.startswith(incomplete)]


def model_names(incomplete: str) -> list[str]:
    """Return names of installed models, and of catalogue models, that begin so."""
    from chatcli.catalogue.index import read_index
    from chatcli.catalogue.load import load_entries

    names: set[str] = set()
    with suppress(ChatcliError, OSError):
        names |= set(read_index())
    with suppress(ChatcliError, OSError):
        names |= {entry.name for entry in load_entries()}
    return sorted(name for name in names if name.startswith(incomplete))


def session_ids(incomplete: str) -> list[tuple[str, str]]:
    """Return the ids of the latest sessions that begin so, with their titles."""
    from chatcli import paths
    from chatcli.core.printable import visible_line

    if not paths.sessions_file().exists():
        return []
    with suppress(ChatcliError, OSError):
        from chatcli.sessions.sqlite import SqliteStore

        with SqliteStore(paths.sessions_file()) as store:
            recent = store.sessions(limit=200)
        return [(s.id, visible_line(s.title)) for s in recent if s.id.startswith(incomplete)]
    return []


# The program, then the second word, as bash (COMP_WORDS) and zsh and fish give the line.
_LINE = re.compile(r"(\s*\S+)(\s+)(\S+)(\s?)")


def name_ask(environ: MutableMapping[str, str], commands: Container[str]) -> None:
    """Put `ask` into the line that the shell wants completed, where it may be left out.

    Without it typer would look for the options of `chatcli "question" -m ...` at the root.
    """
    for variable in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS"):
        line = environ.get(variable, "")
        found = _LINE.match(line)
        if found is None:
            continue
        word, ended = found[3], bool(found[4])
        if word.startswith("-") or (ended and word not in commands):
            environ[variable] = f"{found[1]}{found[2]}ask{line[found.end(1) :]}"
            environ["COMP_CWORD"] = str(int(environ.get("COMP_CWORD", "0")) + 1)
