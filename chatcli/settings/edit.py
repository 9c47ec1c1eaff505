"""One value changed in the text of a settings file; all else stays as the user wrote it.

Works on the marks of PyYAML's own parser, which count characters exactly. Comments, order,
indentation and line ends stay. What comes out is parsed again and must say the same, but
for the one key: a layout that this editor misreads is refused, never damaged.
"""

import re
from pathlib import Path
from typing import TypeAlias

import yaml

from chatcli.core.errors import ConfigError
from chatcli.settings.document import compose_with, parse
from chatcli.settings.keys import Value
from chatcli.settings.value import source

_Pair: TypeAlias = tuple[yaml.ScalarNode, yaml.Node]


def with_value(text: str, name: str, value: Value, path: Path) -> str:
    """Return `text` with the key set; `path` is for messages.

    Raises:
        ConfigError: the text is not a valid settings file, or its layout cannot be edited.
    """
    before = {key: entry.value for key, entry in parse(text, path).items()}
    candidates = _candidates(text, name, source(value), path)
    if name not in before:
        candidates = [*_beside_comment(text, name, source(value)), *candidates]
    for edited in candidates:
        if _says(edited, before | {name: value}, path):
            return edited
    raise _too_clever(name, path)


def without_value(text: str, name: str, path: Path) -> str:
    """Return `text` with the key's lines removed; unchanged when it is not set.

    Raises:
        ConfigError: as `with_value`.
    """
    before = {key: entry.value for key, entry in parse(text, path).items()}
    if name not in before:
        return text
    wanted = {key: value for key, value in before.items() if key != name}
    edited = _removed(text, name, path)
    if not _says(edited, wanted, path):
        raise _too_clever(name, path)
    return edited


def _too_clever(name: str, path: Path) -> ConfigError:
    return ConfigError(
        f"{path}: its layout (anchors, a flow style) does not let {name} be changed by itself",
        "Change it by hand: `chatcli config edit`",
    )


def _says(text: str, wanted: "dict[str, Value]", path: Path) -> bool:
    try:
        return {key: entry.value for key, entry in parse(text, path).items()} == wanted
    except ConfigError:
        return False


def _beside_comment(text: str, name: str, written: str) -> list[str]:
    """Return edits that set the key below a line where it is commented out, if there is one."""
    leaf = name.rpartition(".")[2]
    commented = re.finditer(rf"^( *)# ?{re.escape(leaf)}:.*$", text, re.MULTILINE)
    return [
        _inserted(text, _line_end(text, line.end()), [f"{line[1]}{leaf}: {written}"])
        for line in commented
    ]


def _candidates(text: str, name: str, written: str, path: Path) -> list[str]:
    """Return edits to try, the best first."""
    root = compose_with(yaml.SafeLoader, text, path)
    section, _, leaf = name.rpartition(".")
    below = [f"{section}:", f"  {leaf}: {written}"] if section else [f"{leaf}: {written}"]
    if not isinstance(root, yaml.MappingNode):
        return [_appended(text, below)]
    parent = _pair(root, section) if section else None
    if section and parent is None:
        inline = f"{section}: {{{leaf}: {written}}}"
        return [_appended(text, below), *_added(text, root, below, inline)]
    mapping = root if parent is None else parent[1]
    if not isinstance(mapping, yaml.MappingNode):
        return _filled(text, parent, f"{leaf}: {written}") if parent else []
    pair = _pair(mapping, leaf)
    if pair is not None:
        return [_replaced(text, pair, written)]
    added = _added(text, mapping, [f"{leaf}: {written}"], f"{leaf}: {written}")
    return added if section else [_appended(text, below), *added]


def _pair(mapping: yaml.Node, word: str) -> _Pair | None:
    for key, value in mapping.value:
        if key.value == word:
            return key, value
    return None


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _appended(text: str, lines: list[str]) -> str:
    newline = _newline(text)
    head = text if not text or text.endswith("\n") else text + newline
    return head + newline.join(lines) + newline


def _added(text: str, mapping: yaml.MappingNode, lines: list[str], inline: str) -> list[str]:
    """Return `text` with an entry after the last one of `mapping`."""
    if mapping.flow_style:
        if not mapping.value:
            at = mapping.start_mark.index + 1
            return [text[:at] + inline + text[at:]]
        at = _end(mapping.value[-1])
        return [f"{text[:at]}, {inline}{text[at:]}"]
    indent = " " * mapping.value[0][0].start_mark.column
    at = _line_end(text, _end(mapping.value[-1]))
    return [_inserted(text, at, [indent + line for line in lines])]


def _filled(text: str, parent: _Pair, entry: str) -> list[str]:
    """Return `text` with a first entry in a section that says nothing (`sampling:`)."""
    key, empty = parent
    if empty.start_mark.index == empty.end_mark.index:
        indent = " " * (key.start_mark.column + 2)
        below = _inserted(text, _line_end(text, key.end_mark.index), [indent + entry])
        return [below, _replaced(text, parent, f"{{{entry}}}")]
    return [_replaced(text, parent, f"{{{entry}}}")]


def _inserted(text: str, at: int, lines: list[str]) -> str:
    newline = _newline(text)
    head = text[:at] if text[:at].endswith("\n") else text[:at] + newline
    return head + newline.join(lines) + newline + text[at:]


def _replaced(text: str, pair: _Pair, written: str) -> str:
    key, value = pair
    start, end = value.start_mark.index, _end(pair)
    if start == end or value.start_mark.line != key.end_mark.line:
        start = text.index(":", key.end_mark.index) + 1
        written = f" {written}"
    # A block scalar ends at the start of a later line.
    tail = _newline(text) if text[start:end].endswith("\n") else ""
    return text[:start] + written + tail + text[end:]


def _end(pair: _Pair) -> int:
    """Return where an entry ends; a block collection's own mark is beyond later comments."""
    value = pair[1]
    if isinstance(value, yaml.MappingNode) and not value.flow_style and value.value:
        return _end(value.value[-1])
    return int(value.end_mark.index)


def _line_end(text: str, at: int) -> int:
    """Return the start of the line after `at`; `at` itself where a line starts there."""
    if at and text[at - 1] == "\n":
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _removed(text: str, name: str, path: Path) -> str:
    root = compose_with(yaml.SafeLoader, text, path)
    section, _, leaf = name.rpartition(".")
    parent = _pair(root, section) if section and root else None
    mapping = parent[1] if parent else root
    pair = _pair(mapping, leaf) if mapping else None
    if pair is None or not isinstance(mapping, yaml.MappingNode):
        return text
    if mapping.flow_style:
        return _removed_inline(text, mapping, pair)
    start = _line_start(text, pair[0].start_mark.index)
    end = _line_end(text, _end(pair))
    if parent is not None and len(mapping.value) == 1:
        head = _line_start(text, parent[0].start_mark.index)
        if "#" not in text[head:start]:  # the section would stand empty
            start = head
    return text[:start] + text[end:]


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _removed_inline(text: str, mapping: yaml.MappingNode, pair: _Pair) -> str:
    place = mapping.value.index(pair)
    start, end = pair[0].start_mark.index, _end(pair)
    if place + 1 < len(mapping.value):
        end = mapping.value[place + 1][0].start_mark.index
    elif place:
        start = _end(mapping.value[place - 1])
    return text[:start] + text[end:]
