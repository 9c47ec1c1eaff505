"""The look of everything that is drawn: what is shown, and in which styles.

Only the 16 colours of the terminal's own palette are used, so that a reply fits whatever
palette the user has chosen. The one place where styles are named.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

ThemeName: TypeAlias = Literal["dark", "light"]

DIM = "\x1b[2m"
"""SGR "faint": for remarks beside the reply."""
RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the user wants to see of a turn.

    `markdown` false: the text as it comes. `reasoning` false: hidden. `quiet`: nothing but
    the reply. `progress` false: no line while the prompt is being read.
    """

    markdown: bool = True
    reasoning: bool = True
    quiet: bool = False
    theme: ThemeName = "dark"
    progress: bool = True


_COMMON = {
    "h1": "bold underline",
    "h2": "bold",
    "h3": "bold italic",
    "h4": "italic",
    "strong": "bold",
    "em": "italic",
    "s": "strike",
    "label": "dim",
    "marker": "dim",
    "rule": "dim",
    "html": "dim",
    "quote": "italic",
    "table.header": "bold",
}
_DARK = {**_COMMON, "code": "cyan", "url": "bright_blue", "h1": "bold underline bright_cyan"}
_LIGHT = {**_COMMON, "code": "magenta", "url": "blue", "h1": "bold underline blue"}

STYLES: Mapping[ThemeName, Mapping[str, str]] = {"dark": _DARK, "light": _LIGHT}
"""Styles of Markdown's parts, in rich's notation."""

SYNTAX: Mapping[ThemeName, str] = {"dark": "ansi_dark", "light": "ansi_light"}
"""rich's names of the themes for code that use the terminal's own palette."""
