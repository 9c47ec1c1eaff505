"""Every error that a user can meet.

::

    ChatcliError (1)
    |-- UsageError (2)            the command line, a setting, or an input makes no sense
    |   |-- ConfigError           a settings file: names the file, the line, the nearest key
    |   `-- InputError            a file or stdin cannot be read as text
    |-- ModelError
    |   |-- ModelNotFound         no such name in the catalogue, no such file
    |   |-- CorruptModel          truncated, wrong checksum, not a GGUF
    |   |-- NotAChatModel         the GGUF has no chat template
    |   |-- TemplateError         the template cannot be rendered
    |   `-- LoadError             llama.cpp refused it, or memory ran out
    |-- DownloadError             network, hub, disk space; resumable
    |-- ContextOverflow           the input does not fit: says by how many tokens
    |-- ConstraintError (2)       a schema or a grammar that cannot be used
    |-- CutOff (4)                a limit was reached before a constrained output was complete
    |-- SessionError
    |   |-- SessionNotFound       no such id, prefix or title
    |   |-- SessionBusy           open in another process
    |   `-- StoreError            the database: newer version, corrupt, read-only
    |-- StorageError              disk full, read-only home
    |-- MissingExtra              an optional package is not installed
    `-- Blocked (3)               a safety rule

The number is the exit code, inherited where none stands. 130 (Ctrl-C), 143 (SIGTERM) and
129 (SIGHUP) are not errors: they are `chatcli.cli.main`'s business.
"""

from typing import ClassVar


class ChatcliError(Exception):
    """What happened, in one line; `hint` says what to do about it."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message


class UsageError(ChatcliError):
    """The command line or an input makes no sense."""

    exit_code = 2


class ConfigError(UsageError):
    """A settings file, environment variable or `config set` is wrong."""


class InputError(UsageError):
    """A file or stdin cannot be read as text."""


class ModelError(ChatcliError):
    """Something is wrong with a model."""


class ModelNotFound(ModelError):
    """No such model."""


class CorruptModel(ModelError):
    """The file is damaged; it is never used."""


class NotAChatModel(ModelError):
    """The GGUF has no chat template."""


class TemplateError(ModelError):
    """The chat template cannot be rendered."""


class LoadError(ModelError):
    """llama.cpp could not load the model or make a context."""


class DownloadError(ChatcliError):
    """A download failed; what arrived is kept and resumed."""


class ContextOverflow(ChatcliError):
    """The input does not fit the context; nothing was dropped.

    `needed` and `limit` are in tokens.
    """

    def __init__(self, message: str, hint: str = "", *, needed: int = 0, limit: int = 0) -> None:
        super().__init__(message, hint)
        self.needed = needed
        self.limit = limit


class ConstraintError(ChatcliError):
    """A schema or a grammar cannot be used."""

    exit_code = 2


class CutOff(ChatcliError):
    """A limit was reached before the constrained output was complete."""

    exit_code = 4


class SessionError(ChatcliError):
    """Something is wrong with a session."""


class SessionNotFound(SessionError):
    """No session has this id, prefix or title, or several have."""


class SessionBusy(SessionError):
    """Another process has this session open."""


class StoreError(SessionError):
    """The session database cannot be used; it was left untouched."""


class StorageError(ChatcliError):
    """A file cannot be written: disk full, read-only, no permission."""


class MissingExtra(ChatcliError):
    """An optional package is not installed; the hint is the line to type."""


class Blocked(ChatcliError):
    """A safety rule stopped the turn."""

    exit_code = 3
