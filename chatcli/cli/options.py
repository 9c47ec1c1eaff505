"""Options that several commands share, and how a command takes them.

A command is a frozen dataclass of options and a function that runs with one (`takes`): what
was typed stays apart from what is done. The letters are those of `llm`, the long spellings
those of llama.cpp. What an option may hold is not checked here but by the settings' loader,
which knows every key, its type, its range and the nearest right word.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from chatcli.cli.completion import model_names, option_keys, session_ids, words
from chatcli.cli.light import PAIR
from chatcli.core.errors import UsageError
from chatcli.core.nearest import nearest
from chatcli.core.printable import visible_line

T = TypeVar("T")

_SAMPLING = "sampling."

KEYS = {
    "model": "model",
    "system": "system",
    "temp": "sampling.temperature",
    "top_k": "sampling.top_k",
    "top_p": "sampling.top_p",
    "min_p": "sampling.min_p",
    "repeat_penalty": "sampling.repeat_penalty",
    "seed": "sampling.seed",
    "max_tokens": "reply.max_tokens",
    "overflow": "context.overflow",
    "ctx_size": "context.size",
    "threads": "engine.threads",
    "gpu_layers": "engine.gpu_layers",
    "template": "engine.template",
    "color": "terminal.color",
}
"""The settings key that each field overrides, with the very text that was typed."""

SWITCHES: Mapping[str, tuple[str, bool | str]] = {
    "raw": ("terminal.markdown", False),
    "hide_reasoning": ("terminal.reasoning", False),
    "no_log": ("sessions.log", False),
    "offline": ("download.offline", True),
    "no_kv": ("kv.mode", "off"),
}
"""The settings key of each switch, and what the switch sets it to."""

ALIASES = {
    "temp": "sampling.temperature",
    "max_tokens": "reply.max_tokens",
    "num_predict": "reply.max_tokens",
    "num_ctx": "context.size",
    "ctx_size": "context.size",
    "overflow": "context.overflow",
    "threads": "engine.threads",
    "gpu_layers": "engine.gpu_layers",
}
"""What `-o` takes besides the names of `Sampling` and dotted settings keys."""


def _option(*names: str, text: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, show_default=False, **more)


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What `chat` and `ask` have in common. None and False mean: not said."""

    model: Annotated[
        str | None,
        _option(
            "-m",
            "--model",
            text="Model: a name from `chatcli list`, a .gguf file, or hf.co/USER/REPO:QUANT.",
            metavar="MODEL",
            autocompletion=model_names,
        ),
    ] = None
    system: Annotated[
        str | None, _option("-s", "--system", text="System prompt.", metavar="TEXT")
    ] = None
    go_on: Annotated[bool, _option("-c", "--continue", text="Go on with the latest session.")] = (
        False
    )
    cid: Annotated[
        str | None,
        _option(
            "--cid",
            text="Go on with this session: id, prefix of >= 4 characters, or title.",
            metavar="ID",
            autocompletion=session_ids,
        ),
    ] = None
    fork: Annotated[
        bool, _option("--fork", text="With -c or --cid: go on in a copy of the session.")
    ] = False
    no_log: Annotated[
        bool, _option("-n", "--no-log", text="Incognito: keep nothing, write no log.")
    ] = False
    usage: Annotated[bool, _option("-u", "--usage", text="Say on stderr what the reply cost.")] = (
        False
    )
    hide_reasoning: Annotated[
        bool, _option("-R", "--hide-reasoning", text="Do not show the model's thoughts.")
    ] = False
    raw: Annotated[bool, _option("--raw", text="Plain text on a terminal too, no Markdown.")] = (
        False
    )
    color: Annotated[
        str | None,
        _option(
            "--color",
            text="auto, always or never.",
            metavar="WHEN",
            autocompletion=words("auto", "always", "never"),
        ),
    ] = None
    option: Annotated[
        list[str] | None,
        _option(
            "-o",
            "--option",
            text="Any sampling parameter or dotted settings key (repeatable).",
            metavar=PAIR,
            autocompletion=option_keys,
        ),
    ] = None
    temp: Annotated[
        str | None,
        _option("--temp", "--temperature", text="Temperature; 0 is greedy.", metavar="X"),
    ] = None
    top_k: Annotated[
        str | None, _option("--top-k", text="Keep the N likeliest tokens; 0: all.", metavar="N")
    ] = None
    top_p: Annotated[
        str | None,
        _option("--top-p", text="Keep the likeliest tokens that make up P.", metavar="P"),
    ] = None
    min_p: Annotated[
        str | None,
        _option("--min-p", text="Keep tokens at least P times the likeliest.", metavar="P"),
    ] = None
    repeat_penalty: Annotated[
        str | None, _option("--repeat-penalty", text="1 is none.", metavar="X")
    ] = None
    seed: Annotated[
        str | None, _option("--seed", text="Makes a reply repeatable.", metavar="N")
    ] = None
    max_tokens: Annotated[
        str | None,
        _option("--max-tokens", "--n-predict", text="Longest reply, in tokens.", metavar="N"),
    ] = None
    stop: Annotated[
        list[str] | None,
        _option("--stop", text="End the reply before this text (repeatable).", metavar="TEXT"),
    ] = None
    overflow: Annotated[
        str | None,
        _option(
            "--overflow",
            text="When the context is full: error, summarise or drop-oldest.",
            metavar="POLICY",
            autocompletion=words("error", "summarise", "drop-oldest"),
        ),
    ] = None
    ctx_size: Annotated[
        str | None,
        _option("--ctx-size", "--num-ctx", text="Fix the context, in tokens.", metavar="N"),
    ] = None
    threads: Annotated[str | None, _option("--threads", text="CPU threads.", metavar="N")] = None
    gpu_layers: Annotated[
        str | None,
        _option("--gpu-layers", "-ngl", text="Layers on the GPU; -1: all.", metavar="N"),
    ] = None
    template: Annotated[
        str | None,
        _option("--template", text="Chat template to use: built-in or a file.", metavar="NAME"),
    ] = None
    offline: Annotated[bool, _option("--offline", text="Forbid every download.")] = False
    no_kv: Annotated[
        bool, _option("--no-kv", text="Read and write no KV state: evaluate everything anew.")
    ] = False

    def flags(self) -> dict[str, object]:
        """Return what was said, by dotted settings key. A spelled option wins over `-o`.

        Raises:
            UsageError: `-o` names no key; the hint names the nearest.
        """
        said: dict[str, object] = {option_key(name): text for name, text in self._pairs()}
        for field, key in KEYS.items():
            if (given := getattr(self, field)) is not None:
                said[key] = given
        for field, (key, value) in SWITCHES.items():
            if getattr(self, field):
                said[key] = value
        return said

    def _pairs(self) -> Iterator[Sequence[str]]:
        # Two words from the command line (see PAIR); KEY=VALUE where one was given in code.
        for pair in self.option or ():
            yield pair.split("=", 1) if isinstance(pair, str) else pair

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            UsageError: they do.
        """
        if self.go_on and self.cid is not None:
            raise UsageError("-c and --cid cannot go together", "--cid names the session already")
        if self.fork and not (self.go_on or self.cid):
            raise UsageError("--fork needs a session to copy", "Add -c or --cid ID")


def option_key(name: str) -> str:
    """Return the dotted settings key that `-o NAME` means.

    Raises:
        UsageError: none; the hint names the nearest.
    """
    from chatcli.settings.keys import all_keys

    keys = all_keys()
    plain = name.replace("-", "_")
    for key in (ALIASES.get(plain, name), _SAMPLING + plain):
        if key in keys:
            return key
    sampling = sampling_keys()
    meant = nearest(plain, [*sampling, *ALIASES, *keys])
    hint = f"Did you mean {meant}?" if meant else f"Known: {', '.join(sampling)}"
    raise UsageError(f"-o: there is no key {visible_line(name)!r}", hint)


def sampling_keys() -> list[str]:
    """Return the names of all sampling parameters."""
    from chatcli.core.sampling import Sampling

    return [field.name for field in fields(Sampling)]


def takes(kind: type[T], run: Callable[[T], int | None]) -> Callable[..., int | None]:
    """Make a function for typer whose parameters are the fields of `kind`, and that runs `run`.

    Fields annotated with `typer.Argument` are arguments, the others options.
    """
    hints = get_type_hints(kind, include_extras=True)

    def command(**values: Any) -> int | None:  # typer gives them by name
        return run(kind(**values))

    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(kind)  # type: ignore[arg-type]  # only dataclasses are given
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {**hints, "return": int}
    command.__doc__ = run.__doc__
    return command


def value_options(kind: type) -> Mapping[str, int]:
    """Return each option of `kind` that takes values, by spelling, with how many words."""
    found: dict[str, int] = {}
    for hint in get_type_hints(kind, include_extras=True).values():
        plain, option = get_args(hint)[:2]
        if not isinstance(option, typer.models.OptionInfo) or plain is bool:
            continue
        for spelling in (option.default, *(option.param_decls or ())):
            if isinstance(spelling, str) and spelling.startswith("-"):
                found[spelling] = 2 if option.metavar == PAIR else 1
    return found
