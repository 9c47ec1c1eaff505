"""A settings file: YAML text to checked values, each with the line it stands on.

It knows YAML and the keys, not the layers. Only the syntax tree is used (`yaml.compose`):
the key decides the type of a value, so YAML's guesses (`on`, `3.10`, dates) never matter.
"""

from collections.abc import Mapping
from pathlib import Path

import yaml

from chatcli.core.errors import ConfigError
from chatcli.core.printable import visible_line
from chatcli.settings.file import Entry
from chatcli.settings.keys import Key, Value, all_keys, find_key, key_hint, sections
from chatcli.settings.value import from_text, wrong

_NULL = "tag:yaml.org,2002:null"
_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")
)
_QUOTED = frozenset("'\"|>")  # the style of a plain scalar is "" in libyaml and None in Python
# libyaml where PyYAML was built with it: 0.6 ms instead of 15 for config/default.yaml.
_Loader: type[yaml.SafeLoader] | type[yaml.CSafeLoader] = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)


def compose(text: str, path: Path) -> yaml.Node | None:
    """Return the syntax tree; None for an empty document.

    Raises:
        ConfigError: the text is not one YAML document.
    """
    return compose_with(_Loader, text, path)


def compose_with(
    loader: "type[yaml.SafeLoader | yaml.CSafeLoader]", text: str, path: Path
) -> yaml.Node | None:
    """Do as `compose` does, with a loader of one's own (an editor needs exact marks)."""
    control = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if control is not None:
        raise ConfigError(
            f"{path}, line {text.count(chr(10), 0, control.start()) + 1}: a control character "
            f"(U+{ord(control.group()):04X}) has no place in a settings file",
            "Remove it",
        )
    try:
        root: yaml.Node | None = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, path) from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply", "Settings have two levels") from error
    if isinstance(root, yaml.ScalarNode) and root.tag == _NULL:
        return None
    return root


def _syntax_error(error: yaml.MarkedYAMLError, text: str, path: Path) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    lines = text.splitlines() or [""]
    # A mark at the very end stands one line below the last.
    number = min(mark.line + 1, len(lines)) if mark else 1
    line = lines[number - 1]
    problem = visible_line(error.problem or error.context or "not YAML")
    if "\t" in line[: len(line) - len(line.lstrip())]:
        problem, hint = "a tab in the indentation", "Indent with spaces"
    elif "expected a single document" in f"{error.problem} {error.context}":
        problem, hint = "a second document begins (---)", "Keep one document in the file"
    else:
        hint = "A line is `key: value`; `chatcli config edit` opens your own file"
    return ConfigError(f"{path}, line {number}: {problem}", hint)


def parse(text: str, path: Path) -> Mapping[str, Entry]:
    """Return the checked values of a settings file by dotted name.

    Raises:
        ConfigError: syntax, an unknown or a repeated key, or a value of the wrong type.
    """
    root = compose(text, path)
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(
            f"{path}, line {root.start_mark.line + 1}: settings are lines of `key: value`",
            "`chatcli config show` prints an example",
        )
    entries: dict[str, Entry] = {}
    for name, name_line, node in _pairs(root, "", path):
        if name not in sections():
            entries[name] = _entry(name, name_line, node, path)
        elif isinstance(node, yaml.MappingNode):
            for inner, line, value in _pairs(node, f"{name}.", path):
                entries[inner] = _entry(inner, line, value, path)
        elif node.tag != _NULL:
            raise ConfigError(
                f"{path}, line {name_line}: {name} is a section, not a key", key_hint(name)
            )
    return entries


def _pairs(mapping: yaml.MappingNode, prefix: str, path: Path) -> list[tuple[str, int, yaml.Node]]:
    """Return (dotted name, line, value) of each entry."""
    lines: dict[str, int] = {}
    found: list[tuple[str, int, yaml.Node]] = []
    for key, value in mapping.value:
        line = key.start_mark.line + 1
        where = f"{path}, line {line}"
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError(f"{where}: a key must be a word", "Write `key: value`")
        name = prefix + key.value
        if not prefix and name in all_keys() and "." in name:
            section, _, leaf = name.rpartition(".")
            raise ConfigError(f"{where}: unknown key {name}", f"Write {leaf}: below {section}:")
        if name in lines:
            raise ConfigError(
                f"{where}: {visible_line(name)} is already set on line {lines[name]}",
                "Keep one of the two",
            )
        lines[name] = line
        found.append((name, line, value))
    return found


def _entry(name: str, line: int, node: yaml.Node, path: Path) -> Entry:
    where = f"{path}, line {line}"
    key = find_key(name, where)
    if key.kind == "biases" and isinstance(node, yaml.MappingNode):
        return Entry(_biases(key, node, where), line)
    if not isinstance(node, yaml.ScalarNode):
        shown = "a section" if isinstance(node, yaml.MappingNode) else "a list"
        raise wrong(key, shown, where)
    if node.tag not in _PLAIN_TAGS:
        raise ConfigError(f"{where}: the tag {visible_line(node.tag)} means nothing here", "")
    if node.tag == _NULL:
        if not key.optional:
            raise wrong(key, "null", where)
        return Entry(None, line)
    quoted = node.style in _QUOTED
    if quoted and key.kind not in ("str", "choice"):
        raise wrong(key, f'the text "{node.value}"', where)
    if quoted:
        # Quoted, "null" is a word like any other.
        return Entry(from_text(key._replace(optional=False), node.value, where), line)
    return Entry(from_text(key, node.value, where), line)


def _biases(key: Key, node: yaml.MappingNode, where: str) -> Value:
    if not all(isinstance(side, yaml.ScalarNode) for pair in node.value for side in pair):
        raise wrong(key, "a nested section", where)
    return from_text(key, ",".join(f"{token.value}={bias.value}" for token, bias in node.value))
