"""Sessions on disk: one SQLite file, a journal of the reply being written, lock files."""
