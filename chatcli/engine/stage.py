"""A conversation on the template's stage: rendered with stand-ins for all that was said."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

from chatcli.core.errors import TemplateError
from chatcli.core.message import Message, ToolCall, ToolResult
from chatcli.core.ports import Exchange, Prompt
from chatcli.engine.segment import Part, Slot, Tokenizer, Words
from chatcli.engine.template import ChatTemplate

_Form: TypeAlias = Literal["stand-in", "plain", "disarmed"]


class Stage:
    """One conversation on its way through the template."""

    def __init__(
        self, template: ChatTemplate, tokenizer: Tokenizer, prompt: Prompt, thinking: bool | None
    ) -> None:
        self._template = template
        self._tokenizer = tokenizer
        self._clock = prompt.clock
        self._thinking = thinking
        self._speakers: list[tuple[Message | str, Exchange | None]] = []
        if prompt.system:
            self._speakers.append((prompt.system, None))
        for exchange in prompt.history:
            self._speakers += [(message, None) for message in exchange.asked]
            self._speakers.append((exchange.reply, exchange))
        self._speakers += [(message, None) for message in prompt.asked]
        said = [template.source, *(message for message, _ in self._speakers)]
        self._open, self._close, self._mark = _unused(_texts(said))
        self._slots: list[Slot] = []

    def parts(self) -> list[Part]:
        """Render; cut at the stand-ins."""
        try:
            staged = self._cut(self._render("stand-in"))
            parts = self._fitted(staged, self._render("plain"))
        except TemplateError:
            parts = None
        if parts is None:
            parts = self._cut(self._render("disarmed"))
        return self._marks_cut(parts)

    def _render(self, form: _Form) -> str:
        self._slots = []
        return self._template.render(
            [self._fields(*speaker, form) for speaker in self._speakers],
            clock=self._clock,
            thinking=self._thinking,
        )

    def _slot(self, slot: Slot) -> str:
        self._slots.append(slot)
        return f"{self._open}{len(self._slots) - 1}{self._close}"

    def _fields(
        self, message: Message | str, exchange: Exchange | None, form: _Form
    ) -> dict[str, object]:
        if isinstance(message, str):
            return {"role": "system", "content": self._content(message, form)}
        if exchange is not None:
            return self._reply_fields(exchange)
        content = self._content(message.content, form)
        fields: dict[str, object] = {"role": message.role, "content": content}
        for part in message.parts:
            if isinstance(part, ToolResult):
                fields |= {"tool_call_id": part.call_id, "name": self._tool_name(part.call_id)}
        return fields

    def _content(self, text: str, form: _Form) -> str:
        if form == "stand-in" and text:
            return self._slot(Slot("content", text))
        return self._disarmed(text) if form == "disarmed" else text

    def _reply_fields(self, exchange: Exchange) -> dict[str, object]:
        """Describe a reply: where its ids are known, whatever it said is one opaque word."""
        reply, record = exchange.reply, exchange.record
        fields: dict[str, object] = {"role": "assistant"}
        if record.thought if record else reply.reasoning:
            thought = self._slot(Slot("thought", reply.reasoning, exchange))
            fields |= {"reasoning_content": thought, "thinking": thought}
        calls = [part for part in reply.parts if isinstance(part, ToolCall)]
        if record or reply.text:
            fields["content"] = self._slot(Slot("answer", reply.text.strip(), exchange))
        else:
            fields["content"] = ""
        if calls and not record:  # a record's ids hold the calls as the model wrote them
            fields["tool_calls"] = [self._call_fields(call) for call in calls]
        return fields

    def _call_fields(self, call: ToolCall) -> dict[str, object]:
        function = {"name": call.name, "arguments": self._disarmed_value(call.arguments)}
        return {"id": call.id, "type": "function", "function": function}

    def _tool_name(self, call_id: str) -> str:
        for message, _ in self._speakers:
            if isinstance(message, Message):
                for part in message.parts:
                    if isinstance(part, ToolCall) and part.id == call_id:
                        return part.name
        return call_id

    def _disarmed_value(self, value: object) -> object:
        if isinstance(value, str):
            return self._disarmed(value)
        if isinstance(value, Mapping):
            return {key: self._disarmed_value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._disarmed_value(item) for item in value]
        return value

    def _disarmed(self, text: str) -> str:
        """Break up every control token's name in `text` with a mark, where it is cut later."""
        parts = [text]
        while armed := self._armed(parts):
            names = "|".join(re.escape(name) for name in sorted(armed, key=len, reverse=True))
            broken = re.sub(f"(?:{names})", self._broken, self._mark.join(parts))
            if (cut := broken.split(self._mark)) == parts:
                break
            parts = cut
        return self._mark.join(parts)

    def _broken(self, match: re.Match[str]) -> str:
        return match[0][0] + self._mark + match[0][1:]

    def _armed(self, parts: Sequence[str]) -> set[str]:
        tokenizer = self._tokenizer
        ids = {i for part in parts for i in tokenizer.tokenize(part, special=True)}
        names = (
            tokenizer.piece(i).decode("utf-8", "replace") for i in ids if tokenizer.is_control(i)
        )
        return {name for name in names if len(name) > 1}

    def _cut(self, text: str) -> list[Part]:
        pieces = re.split(f"{self._open}(\\d+){self._close}", text)
        parts: list[Part] = []
        for at, piece in enumerate(pieces):
            parts.append(self._slots[int(piece)] if at % 2 else Words(piece, special=True))
        return parts

    def _fitted(self, staged: Sequence[Part], shown: str) -> list[Part] | None:
        """Put the contents where their stand-ins are, trimmed as `shown` has them.

        None where that does not give `shown`: this template looks into contents.
        """
        shown = re.sub(f"{self._open}\\d+{self._close}", self._open, shown)
        fitted: list[Part] = []
        at = 0
        for part, following in pairwise([*staged, Words("", special=True)]):
            text: str | None = part.text if isinstance(part, Words) else self._open
            fit = part
            if isinstance(part, Slot) and part.kind == "content":
                after = following.text if isinstance(following, Words) else ""
                forms = _trimmed(part.text)
                text = next((f for f in forms if shown.startswith(f + after, at)), None)
                fit = Words(text or "", special=False)
            if text is None or not shown.startswith(text, at):
                return None
            at += len(text)
            fitted.append(fit)
        return fitted if at == len(shown) else None

    def _marks_cut(self, parts: Sequence[Part]) -> list[Part]:
        cut: list[Part] = []
        for part in parts:
            if isinstance(part, Words) and part.special:
                cut += [Words(text, special=True) for text in part.text.split(self._mark)]
            else:
                cut.append(part)
        return cut


def _trimmed(text: str) -> Iterator[str]:
    """Yield the forms in which templates print a content, longest first."""
    forms = {text, text.lstrip("\n"), text.rstrip("\n"), text.strip("\n")}
    forms |= {text.rstrip(), text.lstrip(), text.strip()}
    return iter(sorted(forms, key=len, reverse=True))


def _unused(said: Iterator[str]) -> tuple[str, str, str]:
    """Find three private-use characters that stand nowhere in `said`."""
    taken = {char for text in said for char in text if char >= "\U000f0000"}
    free = (chr(code) for code in range(0xF0000, 0xFFFFE) if chr(code) not in taken)
    return next(free), next(free), next(free)


def _texts(value: object) -> Iterator[str]:
    """Yield all text in a message or a tool call's arguments."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Message):
        yield value.content
        yield value.reasoning
        yield from _texts([part.arguments for part in value.parts if isinstance(part, ToolCall)])
    elif isinstance(value, Mapping):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
