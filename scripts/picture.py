"""Make an SVG picture of a terminal screen, for the README.

Reads text with escape codes (`tmux capture-pane -e -p`, or a recorded session) from stdin or
a file and writes an SVG:

    tmux capture-pane -e -p -t chat | python scripts/picture.py --columns 80 > chat.svg

The SVG names generic monospace fonts only: nothing is loaded from anywhere.
"""

import argparse
import io
import re
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.ansi import AnsiDecoder
from rich.cells import split_graphemes
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import MONOKAI, SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

THEMES: dict[str, TerminalTheme] = {"dark": SVG_EXPORT_THEME, "mono": MONOKAI}
FONTS = "ui-monospace, Menlo, Consolas, monospace"

# rich's page, with the addresses of its web font taken out.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
FORMAT = FORMAT.replace("Fira Code, monospace", FONTS).replace("arial", "sans-serif")


def picture(screen: str, *, columns: int, title: str = "", theme: str = "dark") -> str:
    """Return the SVG of a screen given as lines of text with escape codes."""
    console = Console(
        file=io.StringIO(),
        record=True,
        width=columns,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        _environ={},
    )
    # One decoder for all lines: tmux lets an attribute go on over the end of a line.
    for text in AnsiDecoder().decode(screen.rstrip("\n")):
        console.print(_Cells(text), no_wrap=True, crop=True, overflow="crop")
    svg = console.export_svg(
        title=title, theme=THEMES[theme], code_format=FORMAT, unique_id="chatcli"
    )
    return re.sub(r"<circle[^>]*/>", "", svg)


class _Cells:
    """A line as segments of one width each, so that wide characters do not shift the rest."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: object) -> list[Segment]:
        del options
        segments: list[Segment] = []
        for segment in self._text.render(console):
            segments += _by_width(segment.text, segment.style)
        return [*segments, Segment.line()]


def _by_width(text: str, style: Style | None) -> list[Segment]:
    """Split at spaces and around wide characters: each part gets its own place."""
    parts: list[Segment] = []
    for run in re.findall(r"\s+|[^\s]+", text):
        narrow = ""
        for start, end, cells in split_graphemes(run)[0]:
            if cells == 1 and end - start == 1:
                narrow += run[start:end]
                continue
            parts += [Segment(narrow, style)] if narrow else []
            parts.append(Segment(run[start:end], style))
            narrow = ""
        parts += [Segment(narrow, style)] if narrow else []
    return parts


def main() -> None:
    """Read a screen, write a picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("file", nargs="?", type=Path, help="screen text (default: stdin)")
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("--title", default="")
    parser.add_argument("--theme", choices=sorted(THEMES), default="dark")
    args = parser.parse_args()
    screen = args.file.read_text(encoding="utf-8") if args.file else sys.stdin.read()
    sys.stdout.write(picture(screen, columns=args.columns, title=args.title, theme=args.theme))


if __name__ == "__main__":
    main()
