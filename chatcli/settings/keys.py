"""Every settings key by its dotted name: type, choices, range, and who may set it.

Read off the dataclasses, so that a new field is a new key. What a dataclass cannot say
stands in the tables here: ranges, short variable names, and what a project may set.
"""

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Literal, NamedTuple, TypeAlias, get_args, get_origin

from chatcli.core.errors import ConfigError
from chatcli.core.nearest import nearest
from chatcli.core.printable import visible_line
from chatcli.settings.schema import Settings

Value: TypeAlias = bool | int | float | str | tuple[tuple[int, float], ...] | None
Kind: TypeAlias = Literal["bool", "int", "float", "str", "choice", "biases"]

_KINDS: Mapping[object, Kind] = {bool: "bool", int: "int", float: "float", str: "str"}

_RANGES: Mapping[str, tuple[float | None, float | None]] = {
    "sampling.temperature": (0, None),
    "sampling.top_k": (0, None),
    "sampling.top_p": (0, 1),
    "sampling.min_p": (0, 1),
    "sampling.typical_p": (0, 1),
    "sampling.top_n_sigma": (-1, None),
    "sampling.repeat_penalty": (0.01, None),  # llama.cpp divides by it
    "sampling.repeat_last_n": (-1, None),
    "sampling.dry_multiplier": (0, None),
    "sampling.dry_base": (1, None),
    "sampling.dry_allowed_length": (0, None),
    "sampling.dry_last_n": (-1, None),
    "sampling.xtc_probability": (0, 1),
    "sampling.xtc_threshold": (0, 1),
    "sampling.mirostat": (0, 2),
    "sampling.mirostat_tau": (0, None),
    "sampling.mirostat_eta": (0, None),
    "sampling.seed": (0, 2**32 - 2),  # 2**32 - 1 is llama.cpp's word for "draw one"
    "context.size": (64, None),
    "reply.max_tokens": (1, None),
    "engine.threads": (1, 512),  # GGML_MAX_N_THREADS
    "engine.gpu_layers": (-1, None),
    "engine.batch": (1, None),
    "kv.budget_bytes": (0, None),
    "logs.max_bytes": (1_000, None),
}

# A project file comes with a clone from anyone. It may choose the model and the style; a
# path (template, editor), a host (hub), a permission (log, offline, history) or the use of
# this machine (engine) is never its business.
PROJECT_KEYS = frozenset(
    {
        "model",
        "system",
        "context.size",
        "context.overflow",
        "reply.max_tokens",
        "reply.stop_loops",
        "terminal.markdown",
        "terminal.color",
        "terminal.theme",
        "terminal.reasoning",
        "terminal.status_line",
    }
)

SHORT_VARIABLES: Mapping[str, str] = {
    "CHATCLI_OFFLINE": "download.offline",
    "CHATCLI_THREADS": "engine.threads",
}
"""Second names for two keys; where both are set, the derived name wins."""

OTHER_VARIABLES = frozenset({"CHATCLI_DEBUG"})
"""Variables that are not settings: CHATCLI_DEBUG shows tracebacks (`chatcli.cli.main`)."""


class Key(NamedTuple):
    """One setting. `low` and `high` are inclusive; None is no bound."""

    name: str
    kind: Kind
    optional: bool
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return "CHATCLI_" + self.name.replace(".", "_").upper()

    @property
    def in_project(self) -> bool:
        """Whether a project file may set it."""
        return self.name in PROJECT_KEYS or self.name.startswith("sampling.")


def _key(name: str, annotation: object) -> Key:
    members = get_args(annotation)
    optional = NoneType in members
    if optional:
        (annotation,) = (member for member in members if member is not NoneType)
    low, high = _RANGES.get(name, (None, None))
    if get_origin(annotation) is Literal:
        return Key(name, "choice", optional, get_args(annotation))
    if get_origin(annotation) is tuple:
        return Key(name, "biases", optional)
    return Key(name, _KINDS[annotation], optional, (), low, high)


def _found(prefix: str, found: "tuple[Field[object], ...]") -> Iterator[Key]:
    for field in found:
        if isinstance(field.type, type) and is_dataclass(field.type):
            yield from _found(f"{field.name}.", fields(field.type))
        else:
            yield _key(prefix + field.name, field.type)


@cache
def all_keys() -> Mapping[str, Key]:
    """Return every key by its dotted name, in the order of the dataclasses."""
    return {key.name: key for key in _found("", fields(Settings))}


@cache
def sections() -> frozenset[str]:
    """Return the names that hold other keys."""
    return frozenset(name.rpartition(".")[0] for name in all_keys() if "." in name)


@cache
def variables() -> Mapping[str, Key]:
    """Return the key of every environment variable; the short names come first."""
    short = {variable: all_keys()[name] for variable, name in SHORT_VARIABLES.items()}
    return short | {key.variable: key for key in all_keys().values()}


def find_key(name: str, where: str = "") -> Key:
    """Return the key of this dotted name. `where` opens the message: a file and a line.

    Raises:
        ConfigError: there is none; the hint names the nearest one.
    """
    key = all_keys().get(name)
    if key is not None:
        return key
    known = f"{name} is a section, not a key" if name in sections() else ""
    message = known or f"unknown key {visible_line(name)}"
    raise ConfigError(f"{where}: {message}" if where else message, key_hint(name))


def key_hint(name: str) -> str:
    """Return what to do about a key that does not exist, as a sentence without its stop."""
    leaf = name.rpartition(".")[2]
    same_leaf = [known for known in all_keys() if known.rpartition(".")[2] == leaf]
    inside = [known[len(name) + 1 :] for known in all_keys() if known.startswith(f"{name}.")]
    if inside:
        return f"Its keys are {', '.join(inside)}"
    # The right word in the wrong section is the commonest slip, and difflib misses it.
    meant = same_leaf[0] if same_leaf else nearest(name, [*all_keys(), *sections()])
    return f"Did you mean {meant}?" if meant else "`chatcli config show` lists every key"
