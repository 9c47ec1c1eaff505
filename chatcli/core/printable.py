"""Text made safe to print on a terminal: control characters are shown, never obeyed."""

import re

# C0 without tab and line feed, DEL, C1, and the bidirectional controls that can make text
# read differently from what it is (CVE-2021-42574, "Trojan Source"), line separators.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]"
)


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # U+2400.. "control pictures"
    if code == 0x7F:
        return "\u2421"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def visible(text: str) -> str:
    """Return `text` with its control characters replaced by visible stand-ins.

    Tabs and line feeds stay; a carriage return before a line feed is dropped.
    """
    return _CONTROL.sub(_shown, text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    """Return `text` as one safe line: line feeds and tabs become spaces."""
    return visible(" ".join(text.split()))


def model_label(model: str) -> str:
    """Return a model's name as it is shown: of a path, the file's name alone."""
    name = visible_line(model)
    return name.rpartition("/")[2] if name.endswith(".gguf") else name
