"""A model's chat template: messages in, prompt text out.

Knows Jinja, as GGUF files carry it, and what templates expect of their surroundings
(`transformers.utils.chat_template_utils` set the custom). Knows nothing of tokens.
"""

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from chatcli.core.errors import TemplateError
from chatcli.engine.builtin import builtin_template
from chatcli.engine.think import Markers, markers_for

if TYPE_CHECKING:
    import jinja2
    from jinja2 import nodes
    from jinja2.parser import Parser

__all__ = ["ChatTemplate", "Fallback", "Fields", "builtin_template"]

Fields: TypeAlias = Mapping[str, object]
"""One message as a template reads it: role, content, reasoning_content, tool_calls..."""

Fallback: TypeAlias = Literal["tools", "system", "alternate", "arguments"]
"""What is done for a template that refuses a plain conversation.

`tools`: an empty list of tools instead of none. `system`: the system text goes to the
front of the first user message. `alternate`: neighbours of one role become one message.
`arguments`: tool arguments as JSON text.
"""

_LADDER: tuple[tuple[Fallback, ...], ...] = (
    (),
    ("tools",),
    ("system",),
    ("alternate",),
    ("system", "alternate"),
    ("arguments",),
    ("system", "alternate", "arguments"),
)

_MAX_STEPS = 1_000_000
_MAX_REPEAT = 1_000_000


class ChatTemplate:
    """A Jinja chat template in a sandbox.

    `fallbacks` says what had to be done so that it renders. A fallback is tried only when
    the plain form raises; from then on it is always applied, so that a conversation that
    grows is rendered the same way each time (each of them changes nothing where it is not
    needed).
    """

    def __init__(self, source: str, *, bos: str, eos: str) -> None:
        self.source = source
        self.bos = bos
        self.eos = eos
        self.fallbacks: tuple[Fallback, ...] = ()

    @cached_property
    def markers(self) -> tuple[Markers, ...]:
        """The think markers that it writes."""
        return markers_for(self.source)

    def render(
        self,
        messages: Sequence[Fields],
        *,
        clock: float = 0.0,
        thinking: bool | None = None,
        generation_prompt: bool = True,
    ) -> str:
        """Render a conversation; `clock` (s since the epoch) is the date that it may print.

        `thinking` None leaves the choice to the template.

        Raises:
            TemplateError: it cannot be parsed, or refuses this conversation in every form.
        """
        variables = self._variables(clock, thinking, generation_prompt=generation_prompt)
        refusal: TemplateError | None = None
        for fallbacks in (self.fallbacks, *_LADDER):
            try:
                text = self._render(messages, variables, fallbacks)
            except TemplateError as error:
                refusal = refusal or error
            else:
                self.fallbacks = fallbacks
                return text
        raise refusal or TemplateError("the chat template cannot be rendered")

    def _variables(
        self, clock: float, thinking: bool | None, *, generation_prompt: bool
    ) -> dict[str, object]:
        now = datetime.fromtimestamp(clock, UTC).astimezone()
        variables: dict[str, object] = {
            "bos_token": self.bos,
            "eos_token": self.eos,
            "add_generation_prompt": generation_prompt,
            "tools": None,
            "documents": None,
            "functions": "",
            "datetime": now.strftime("%Y-%m-%d"),
            "strftime_now": now.strftime,
        }
        return variables if thinking is None else variables | {"enable_thinking": thinking}

    def _render(
        self, messages: Sequence[Fields], variables: Fields, fallbacks: tuple[Fallback, ...]
    ) -> str:
        import jinja2

        given = dict(variables, messages=_adapted(messages, fallbacks), range=_Steps().range)
        if "tools" in fallbacks:
            given |= {"tools": [], "documents": []}
        try:
            return self._compiled.render(given)
        except (
            jinja2.TemplateError,
            ArithmeticError,
            AttributeError,
            LookupError,
            MemoryError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            raise _refusal(error) from error

    @cached_property
    def _compiled(self) -> "jinja2.Template":
        return _environment().from_string(self.source)


def _refusal(error: BaseException) -> TemplateError:
    """Say what went wrong and in which line of the template."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == _NAME]
    line = getattr(error, "lineno", None) or (lines[-1] if lines else None)
    where = f", line {line}" if line else ""
    reason = " ".join(str(error).split()) or type(error).__name__
    return TemplateError(
        f"the model's chat template cannot be rendered{where}: {reason}",
        "Choose another with --template NAME or --template FILE.jinja.",
    )


_NAME = "<template>"  # what Jinja calls a template that was not read from a file


def _adapted(messages: Sequence[Fields], fallbacks: Iterable[Fallback]) -> list[dict[str, object]]:
    adapted = [dict(message) for message in messages]
    for fallback in fallbacks:
        adapted = _ADAPT.get(fallback, list)(adapted)
    return adapted


def _fold_system(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    if not messages or messages[0]["role"] != "system":
        return messages
    system, *others = messages
    for at, message in enumerate(others):
        if message["role"] == "user":
            folded = message | {"content": f"{system['content']}\n\n{message['content']}"}
            return [*others[:at], folded, *others[at + 1 :]]
    return [system | {"role": "user"}, *others]


def _merge_neighbours(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    merged: list[dict[str, object]] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"] != "tool":
            last = merged[-1]
            content = f"{last['content']}\n\n{message['content']}"
            merged[-1] = last | message | {"content": content}
        else:
            merged.append(message)
    return merged


def _arguments_as_text(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    return [
        message | {"tool_calls": [_call_as_text(call) for call in calls]}
        if isinstance(calls := message.get("tool_calls"), list)
        else message
        for message in messages
    ]


def _call_as_text(call: dict[str, object]) -> dict[str, object]:
    function = call.get("function")
    if not isinstance(function, dict):
        return call
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else _tojson(arguments)
    return call | {"function": function | {"arguments": text}}


_ADAPT: dict[Fallback, Callable[[list[dict[str, object]]], list[dict[str, object]]]] = {
    "system": _fold_system,
    "alternate": _merge_neighbours,
    "arguments": _arguments_as_text,
}


def _tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Write JSON as transformers does; Jinja's own filter would escape `<` and `&`."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


class _Steps:
    """Jinja's `range`, with a limit on what all the loops of one rendering may count."""

    def __init__(self) -> None:
        self._left = _MAX_STEPS

    def range(self, *bounds: int) -> Iterator[int]:
        steps = range(*bounds)
        self._left -= len(steps)
        if self._left < 0:
            raise OverflowError("it loops too long")
        return iter(steps)


def prepare() -> None:
    """Import Jinja and make the sandbox (40-60 ms), so that no prompt has to wait for it."""
    _environment()


@cache
def _environment() -> "jinja2.Environment":
    """Make the sandbox: whitespace rules, tags, filters and functions as transformers has them."""
    import jinja2
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment

    class Generation(Extension):
        """The tag that marks what a model says, for training; here it is its own content."""

        tags = {"generation"}  # noqa: RUF012 - Jinja declares it as a set

        def parse(self, parser: "Parser") -> "list[nodes.Node]":
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    class Sandbox(ImmutableSandboxedEnvironment):
        """As the immutable sandbox, and a product cannot eat the memory."""

        intercepted_binops = frozenset({"*", "**"})

        def call_binop(
            self, context: "jinja2.runtime.Context", operator: str, left: object, right: object
        ) -> object:
            sizes = [len(side) for side in (left, right) if isinstance(side, str | list | tuple)]
            factors = [side for side in (left, right) if isinstance(side, int)]
            if operator == "**" or (sizes and factors and sizes[0] * factors[0] > _MAX_REPEAT):
                raise OverflowError(f"{operator} makes too much")
            return super().call_binop(context, operator, left, right)

    def raise_exception(message: str) -> None:
        raise jinja2.TemplateError(message)

    environment: SandboxedEnvironment = Sandbox(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.loopcontrols", Generation],
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = raise_exception
    return environment
