"""One value: from text or from Python, checked against its key; and back to YAML source.

The key decides the type, never the look of the text: `model: 3b`, `system: no` and
`flash_attention: on` mean what they say. It knows nothing of files.
"""

import math
import re

from chatcli.core.errors import ConfigError
from chatcli.core.nearest import nearest
from chatcli.core.printable import visible_line
from chatcli.settings.keys import Key, Value

# YAML 1.1's words for truth, and the 1 and 0 of environment variables.
_TRUE = frozenset({"true", "yes", "on", "y", "1"})
_FALSE = frozenset({"false", "no", "off", "n", "0"})
_NULL = frozenset({"null", "~"})

# Patterns are compiled on first use: most starts need none of them.

# ASCII digits of a bounded number, so that int() and float() take linear, short time.
_INT = r"[-+]?[0-9][0-9_]{0,30}"
_FLOAT = r"[-+]?(?=[.]?[0-9])[0-9_]{0,30}(?:[.][0-9]{0,30})?(?:[eE][-+]?[0-9]{1,3})?"
_BIAS = r"\s*([^=:,\s]+)\s*[=:]\s*([^=:,\s]+)\s*"

# Text that every YAML reader takes for the same text when it stands bare.
_BARE = r"[A-Za-z/][A-Za-z0-9_./@+-]*(?::[A-Za-z0-9_./@+-]+)*"
_NOT_BARE = _TRUE | _FALSE | _NULL


def wanted(key: Key) -> str:
    """Return what the key takes, in words: "a whole number from 1 to 512, or null"."""
    words = {
        "bool": "true or false",
        "int": "a whole number" + _bounds(key),
        "float": "a number" + _bounds(key),
        "str": "text",
        "choice": "one of " + ", ".join(key.choices),
        "biases": "token ids with a number each, as {15: -100}",
    }[key.kind]
    return f"{words}, or null" if key.optional else words


def _bounds(key: Key) -> str:
    if key.low is not None and key.high is not None:
        return f" from {key.low:g} to {key.high:.0f}"
    return f" of at least {key.low:g}" if key.low is not None else ""


def wrong(key: Key, shown: str, where: str) -> ConfigError:
    """Return the error for a value that the key does not take."""
    short = visible_line(shown)
    short = short if len(short) <= 60 else short[:57] + "..."
    message = f"{key.name} wants {wanted(key)}, not {short or 'nothing'}"
    meant = nearest(shown, key.choices)
    return ConfigError(
        f"{where}: {message}" if where else message, f"Did you mean {meant}?" if meant else ""
    )


def from_text(key: Key, text: str, where: str = "") -> Value:
    """Read a value from plain text.

    Raises:
        ConfigError: it is not what the key wants.
    """
    word = text.strip()
    if key.optional and word.lower() in _NULL:
        return None
    value = text if key.kind == "str" else _read(key, word)
    if value is None or not _fits(key, value):
        raise wrong(key, text, where)
    return value


def _read(key: Key, word: str) -> Value:
    """Return the value of the key's type that `word` spells; None where it spells none."""
    match key.kind:
        case "bool":
            low = word.lower()
            return True if low in _TRUE else False if low in _FALSE else None
        case "int":
            return int(word) if re.fullmatch(_INT, word) else None
        case "float":
            return float(word) if re.fullmatch(_FLOAT, word) else None
        case "choice":
            return word
        case _:
            return _biases(word)


def _biases(text: str) -> Value:
    pairs: list[tuple[int, float]] = []
    inner = text.strip("{} ")
    for part in inner.split(",") if inner else []:
        found = re.fullmatch(_BIAS, part)
        if not found or not re.fullmatch(_INT, found[1]) or not re.fullmatch(_FLOAT, found[2]):
            return None
        pairs.append((int(found[1]), float(found[2])))
    return tuple(pairs)


def _fits(key: Key, value: Value) -> bool:
    match value:
        case bool():
            return key.kind == "bool"
        case int() | float():
            low = -math.inf if key.low is None else key.low
            high = math.inf if key.high is None else key.high
            return abs(value) < 2**63 and low <= value <= high  # no infinity, and NaN fails too
        case str():
            # Half of a surrogate pair: undecodable bytes of the command line.
            whole = not any("\ud800" <= char <= "\udfff" for char in value)
            return whole and "\0" not in value and (not key.choices or value in key.choices)
        case None:
            return key.optional
        case _:
            ids = [token for token, _ in value]
            bounded = all(0 <= token < 2**31 and math.isfinite(bias) for token, bias in value)
            return bounded and len(set(ids)) == len(ids)


def from_object(key: Key, given: object, where: str = "") -> Value:
    """Check a Python value, as a flag gives it; text is read as text.

    Raises:
        ConfigError: it is not what the key wants.
    """
    if isinstance(given, str):
        return from_text(key, given, where)
    value: Value = None
    if isinstance(given, bool):
        right, value = key.kind == "bool", given
    elif isinstance(given, int) and key.kind == "int":
        right, value = True, given
    elif isinstance(given, int | float) and key.kind == "float":
        right, value = True, float(given)
    elif isinstance(given, tuple) and key.kind == "biases":
        right, value = True, tuple((int(token), float(bias)) for token, bias in given)
    else:
        right = given is None
    if not right or not _fits(key, value):
        raise wrong(key, str(given), where)
    return value


def source(value: Value) -> str:
    """Return the value as one line of YAML, right in a block and inside braces."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            bare = re.fullmatch(_BARE, value) and value.lower() not in _NOT_BARE
            return value if bare else _quoted(value)
        case _:
            return "{" + ", ".join(f"{token}: {bias!r}" for token, bias in value) + "}"


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    """Return one character of a double-quoted YAML 1.1 scalar (section 5.6)."""
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    short = {"\n": "\\n", "\t": "\\t"}.get(char)
    code = ord(char)
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\U{code:08x}")
