"""What the shell offers for a model or a session."""


def model_names(incomplete: str) -> list[str]:
    """Return names of installed models, and of catalogue models, that begin so."""
    from chatcli.catalogue.index import read_index
    from chatcli.catalogue.load import load_entries

    names = [*read_index(), *(entry.name for entry in load_entries())]
    return sorted({name for name in names if name.startswith(incomplete)})


def session_ids(incomplete: str) -> list[tuple[str, str]]:
    """Return the ids of the latest sessions that begin so, with their titles."""
    from chatcli import paths
    from chatcli.core.printable import visible_line
    from chatcli.sessions.sqlite import SqliteStore

    if not paths.sessions_file().exists():
        return []
    store = SqliteStore(paths.sessions_file())
    try:
        recent = store.sessions(limit=200)
    finally:
        store.close()
    return [(s.id, visible_line(s.title)) for s in recent if s.id.startswith(incomplete)]
