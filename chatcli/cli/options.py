"""Options that several commands share, and how a command takes them.

A command is a frozen dataclass of options and a function that runs with one (`takes`): what
was typed stays apart from what is done. The letters are those of `llm`, the long spellings
those of llama.cpp.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from chatcli.core.errors import UsageError
from chatcli.core.nearest import nearest

T = TypeVar("T")

_MODEL = "Model: a catalogue name, a .gguf file, or hf.co/user/repo:QUANT."
_ENGINE = "Engine"
_SAMPLING = "Sampling"


def _models(incomplete: str) -> list[str]:
    from chatcli.cli.completion import model_names

    return model_names(incomplete)


def _sessions(incomplete: str) -> list[tuple[str, str]]:
    from chatcli.cli.completion import session_ids

    return session_ids(incomplete)


def _option(*names: str, text: str, panel: str | None = None, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=False, **more)


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What `chat` and `ask` have in common. None and False mean: not said."""

    model: Annotated[str | None, _option("-m", "--model", text=_MODEL, autocompletion=_models)] = (
        None
    )
    system: Annotated[str | None, _option("-s", "--system", text="System prompt.")] = None
    go_on: Annotated[bool, _option("-c", "--continue", text="Go on with the latest session.")] = (
        False
    )
    cid: Annotated[
        str | None,
        _option(
            "--cid",
            text="Go on with this session: id, prefix of >= 4 characters, or title.",
            autocompletion=_sessions,
        ),
    ] = None
    fork: Annotated[
        bool, _option("--fork", text="With -c or --cid: go on in a copy of the session.")
    ] = False
    no_log: Annotated[
        bool, _option("-n", "--no-log", text="Incognito: write nothing anywhere.")
    ] = False
    usage: Annotated[bool, _option("-u", "--usage", text="Say on stderr what the reply cost.")] = (
        False
    )
    hide_reasoning: Annotated[
        bool, _option("-R", "--hide-reasoning", text="Do not show the model's thoughts.")
    ] = False
    raw: Annotated[bool, _option("--raw", text="Plain text, no Markdown.")] = False
    color: Annotated[str | None, _option("--color", text="auto, always or never.")] = None
    option: Annotated[
        list[str] | None,
        _option(
            "-o",
            "--option",
            text="Any sampling parameter: -o KEY VALUE (repeatable).",
            panel=_SAMPLING,
            metavar="KEY VALUE",
        ),
    ] = None
    temp: Annotated[
        float | None, _option("--temp", "--temperature", text="0 is greedy.", panel=_SAMPLING)
    ] = None
    top_k: Annotated[int | None, _option("--top-k", text="Most likely ids kept.")] = None
    top_p: Annotated[float | None, _option("--top-p", text="Nucleus sampling.")] = None
    min_p: Annotated[float | None, _option("--min-p", text="Least relative probability.")] = None
    repeat_penalty: Annotated[
        float | None, _option("--repeat-penalty", text="Penalty on repetition; 1 is none.")
    ] = None
    seed: Annotated[int | None, _option("--seed", text="Makes a reply repeatable.")] = None
    max_tokens: Annotated[
        int | None, _option("--max-tokens", "--n-predict", text="Longest reply, in tokens.")
    ] = None
    stop: Annotated[
        list[str] | None, _option("--stop", text="End the reply before this text (repeatable).")
    ] = None
    overflow: Annotated[
        str | None,
        _option("--overflow", text="When the context is full: error, summarise, drop-oldest."),
    ] = None
    ctx_size: Annotated[
        int | None,
        _option("--ctx-size", "--num-ctx", text="Fix the context, in tokens.", panel=_ENGINE),
    ] = None
    threads: Annotated[int | None, _option("--threads", text="CPU threads.", panel=_ENGINE)] = None
    gpu_layers: Annotated[
        int | None,
        _option("--gpu-layers", "-ngl", text="Layers on the GPU; -1: all.", panel=_ENGINE),
    ] = None
    template: Annotated[
        str | None,
        _option("--template", text="Chat template: a built-in name or a .jinja file."),
    ] = None
    offline: Annotated[bool, _option("--offline", text="Forbid every download.")] = False

    def flags(self) -> dict[str, object]:
        """Return what was said, by dotted settings key; None where nothing was."""
        return {
            "model": self.model,
            "system": self.system,
            "sampling.temperature": self.temp,
            "sampling.top_k": self.top_k,
            "sampling.top_p": self.top_p,
            "sampling.min_p": self.min_p,
            "sampling.repeat_penalty": self.repeat_penalty,
            "sampling.seed": self.seed,
            **self._options(),
            "reply.max_tokens": self.max_tokens,
            "context.size": self.ctx_size,
            "context.overflow": self.overflow,
            "engine.threads": self.threads,
            "engine.gpu_layers": self.gpu_layers,
            "engine.template": self.template,
            "terminal.color": self.color,
            "terminal.markdown": False if self.raw else None,
            "terminal.reasoning": False if self.hide_reasoning else None,
            "sessions.log": False if self.no_log else None,
            "download.offline": True if self.offline else None,
        }

    def _options(self) -> dict[str, object]:
        known = sampling_keys()
        said: dict[str, object] = {}
        for pair in self.option or ():
            key, _, value = pair.partition("=")
            name = key.replace("-", "_")
            name = {"temp": "temperature"}.get(name, name)
            if name == "max_tokens":
                said["reply.max_tokens"] = value
                continue
            if name not in known:
                guess = nearest(name, known)
                raise UsageError(
                    f"there is no option {key!r}",
                    f"Did you mean {guess}?" if guess else f"Known: {', '.join(known)}",
                )
            said[f"sampling.{name}"] = value
        return said

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            UsageError: they do.
        """
        if self.go_on and self.cid is not None:
            raise UsageError("-c and --cid cannot go together", "--cid names the session already")
        if self.fork and not (self.go_on or self.cid):
            raise UsageError("--fork needs a session to copy", "Add -c or --cid ID")


def sampling_keys() -> list[str]:
    """Return the names of all sampling parameters."""
    from chatcli.core.sampling import Sampling

    return [field.name for field in fields(Sampling) if field.name != "logit_bias"]


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
    """Return each option of `kind` that takes a value, by spelling, with the number 1."""
    found: dict[str, int] = {}
    for hint in get_type_hints(kind, include_extras=True).values():
        plain, option = get_args(hint)[:2]
        if not isinstance(option, typer.models.OptionInfo) or plain is bool:
            continue
        for spelling in (option.default, *(option.param_decls or ())):
            if isinstance(spelling, str) and spelling.startswith("-"):
                found[spelling] = 1
    return found
