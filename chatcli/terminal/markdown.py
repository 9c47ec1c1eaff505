"""Markdown to lines of styled text that fit a width.

All of the source's text is shown: HTML, images, reference definitions and the surplus cells
of a table row too, which an HTML page would hide. A line of the result depends on the source
up to there only (numbers are not aligned to later ones), so that a growing text can be drawn
from its top. Knows nothing about what is on the screen already.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text

from chatcli.core.printable import visible
from chatcli.terminal.blocks import MAX_NESTING, parser
from chatcli.terminal.table import layout
from chatcli.terminal.theme import STYLES, SYNTAX, ThemeName
from chatcli.terminal.wrap import chop, wrap

_MIN_WIDTH = 12
"""Below this, containers no longer indent what is in them."""
_RULE_WIDTH = 40


@dataclass(frozen=True, slots=True)
class Ink:
    """Width in columns and the styles to draw in."""

    width: int
    theme: ThemeName = "dark"
    color: bool = True

    def style(self, name: str) -> Style:
        """Return a style of the theme."""
        return _style(self.theme, name)

    def narrower(self, n: int) -> "Ink":
        """Return the ink for a box that is `n` columns narrower."""
        return Ink(self.width - n, self.theme, self.color)


@cache
def _parser() -> MarkdownIt:
    return parser()


@cache
def _style(theme: ThemeName, name: str) -> Style:
    return Style.parse(STYLES[theme][name])


def render(source: str, ink: Ink) -> list[Text]:
    """Return the lines of a Markdown text: blocks with one blank line between them."""
    tokens = _parser().parse(source)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        # The parser stops here and would leave text out.
        return [
            line for part in visible(source).split("\n") for line in wrap(Text(part), ink.width)
        ]
    lines: list[Text] = []
    for node in SyntaxTreeNode(tokens).children:
        if lines:
            lines.append(Text())
        lines += _block(node, source.split("\n"), ink)
    # A marker alone can be wider than a very narrow terminal.
    return [row for line in lines for row in chop(line, ink.width)]


def highlight(code: str, language: str, ink: Ink) -> list[Text]:
    """Return the lines of a code text, coloured as `language` if that is known."""
    code = visible(code)
    syntax = Syntax(code, language, theme=SYNTAX[ink.theme], tab_size=0)
    if language and syntax.lexer is not None:
        text = syntax.highlight(code)
        # Some lexers tidy up what they read; then colours are not worth it.
        if text.plain.rstrip("\n") == code.rstrip("\n"):
            return _code_lines(text, code)
    return _code_lines(Text(code, ink.style("code")), code)


def _code_lines(text: Text, code: str) -> list[Text]:
    lines = list(text.split("\n", allow_blank=True))  # the highlighter adds line feeds
    count = code.removesuffix("\n").count("\n") + 1
    return lines[:count] + [Text()] * (count - len(lines))


def language_of(info: str) -> str:
    """Return the language that a fence's info string names: "python" of "python title=x"."""
    word = info.split(maxsplit=1)[0] if info else ""
    return word.strip("{}.").split("{")[0].lower()


# -- blocks ------------------------------------------------------------------------------


def _block(node: SyntaxTreeNode, source: Sequence[str], ink: Ink) -> list[Text]:
    draw = _BLOCKS.get(node.type, _unknown)
    return draw(node, source, ink)


def _unknown(node: SyntaxTreeNode, source: Sequence[str], ink: Ink) -> list[Text]:
    start, end = node.map or (0, 0)
    return [line for part in source[start:end] for line in wrap(Text(visible(part)), ink.width)]


def _paragraph(node: SyntaxTreeNode, source: Sequence[str], ink: Ink) -> list[Text]:
    del source
    return wrap(_inline(node, ink), ink.width)


def _heading(node: SyntaxTreeNode, source: Sequence[str], ink: Ink) -> list[Text]:
    del source
    text = _inline(node, ink)
    text.stylize_before(ink.style(f"h{min(4, int(node.tag[1:]))}"))
    return wrap(text, ink.width)


def _rule(node: SyntaxTreeNode, source: Sequence[str], ink: Ink) -> list[Text]:
    del node, source
    return [Text("─" * min(ink.width, _RULE_WIDTH), ink.style("rule"))]


def _html(node: SyntaxTreeNode, source: Sequence[str], ink: Ink) -> list[Text]:
    del source
    text = Text(visible(node.content.rstrip("\n")), ink.style("html"))
    return wrap(text, ink.width)


def _code(node: SyntaxTreeNode, source: Sequence[str], ink: Ink) -> list[Text]:
    del source
    info = visible(node.info.strip()) if node.type == "fence" else ""
    label = wrap(Text(info, ink.style("label")), ink.width) if info else []
    if not node.content.strip("\n"):
        return label
    code = highlight(node.content, language_of(info), ink)
    return label + [row for line in code for row in chop(line, ink.width)]


def _quote(node: SyntaxTreeNode, source: Sequence[str], ink: Ink) -> list[Text]:
    bar = Text().append("│ ", ink.style("marker"))
    lines = _children(node, source, ink.narrower(2) if ink.width > _MIN_WIDTH else ink)
    for line in lines:
        line.stylize_before(ink.style("quote"))
    return [bar + line for line in lines]


def _list(node: SyntaxTreeNode, source: Sequence[str], ink: Ink) -> list[Text]:
    lines: list[Text] = []
    number = int(node.attrs.get("start", 1))
    for index, item in enumerate(node.children):
        marker = "• " if node.type == "bullet_list" else f"{number + index}{item.markup} "
        if index and _blank_before(item, source):
            lines.append(Text())
        lines += _item(item, marker, source, ink)
    return lines


def _item(item: SyntaxTreeNode, marker: str, source: Sequence[str], ink: Ink) -> list[Text]:
    indent = len(marker) if ink.width - len(marker) >= _MIN_WIDTH else 0
    body = _children(item, source, ink.narrower(indent) if indent else ink)
    first = Text().append(marker, ink.style("marker"))
    if not indent:
        return [first, *body]
    return [first + (body[0] if body else ""), *(Text(" " * indent) + line for line in body[1:])]


def _children(node: SyntaxTreeNode, source: Sequence[str], ink: Ink) -> list[Text]:
    lines: list[Text] = []
    for index, child in enumerate(node.children):
        if index and _blank_before(child, source):
            lines.append(Text())
        lines += _block(child, source, ink)
    return lines


def _blank_before(node: SyntaxTreeNode, source: Sequence[str]) -> bool:
    """Return whether the author left a blank line before `node` (in a quote: only ">")."""
    start = node.map[0] if node.map else 0
    return start > 0 and not source[start - 1].strip(" \t>")


def _table(node: SyntaxTreeNode, source: Sequence[str], ink: Ink) -> list[Text]:
    rows: list[list[Text]] = []
    aligns: list[str] = []
    for row in (row for part in node.children for row in part.children):
        cells = [_inline(cell, ink) for cell in row.children]
        if not rows:
            aligns = [str(cell.attrs.get("style", "")) for cell in row.children]
            for cell in cells:
                cell.stylize_before(ink.style("table.header"))
        rows.append(cells + _surplus(row, len(cells), source, ink))
    return layout(
        rows, [a.removeprefix("text-align:") for a in aligns], ink.width, ink.style("rule")
    )


def _surplus(row: SyntaxTreeNode, n: int, source: Sequence[str], ink: Ink) -> list[Text]:
    """Return the cells beyond the header's; GFM says "ignored", we show them."""
    line = source[row.map[0]].lstrip(" \t>") if row.map else ""
    cells = escapedSplit(line.strip())
    cells = cells[1:] if cells and not cells[0] else cells
    cells = cells[:-1] if cells and not cells[-1] else cells
    extra = (_parser().parseInline(cell.strip())[0].children or [] for cell in cells[n:])
    return [inline(tokens, ink) for tokens in extra]


_Draw = Callable[[SyntaxTreeNode, Sequence[str], Ink], list[Text]]
_BLOCKS: dict[str, _Draw] = {
    "paragraph": _paragraph,
    "heading": _heading,
    "hr": _rule,
    "html_block": _html,
    "fence": _code,
    "code_block": _code,
    "blockquote": _quote,
    "bullet_list": _list,
    "ordered_list": _list,
    "table": _table,
}

# -- inline ------------------------------------------------------------------------------


def _inline(node: SyntaxTreeNode, ink: Ink) -> Text:
    tokens = [t for child in node.children if child.token for t in child.token.children or []]
    return inline(tokens, ink)


def inline(tokens: Iterable[Token], ink: Ink) -> Text:
    """Return the text of inline tokens; line breaks of the author stay."""
    text = Text()
    styles: list[Style] = []
    links: list[tuple[int, str]] = []  # where a link's text begins, and what follows it
    for token in tokens:
        match token.type:
            case "strong_open" | "em_open" | "s_open":
                styles.append(ink.style(token.type.removesuffix("_open")))
            case "strong_close" | "em_close" | "s_close":
                styles.pop()
            case "link_open":
                links.append((len(text), _target(token, "href")))
            case "link_close":
                _end_link(text, *links.pop(), ink)
            case _:
                text.append(*_leaf(token, ink, styles))
    return text


def _leaf(token: Token, ink: Ink, styles: Sequence[Style]) -> tuple[str, Style]:
    style = Style.combine([Style.null(), *styles])
    match token.type:
        case "softbreak" | "hardbreak":
            return "\n", style
        case "code_inline":
            # Without colours the backticks are what shows that it is code.
            code = token.content if ink.color else f"{token.markup}{token.content}{token.markup}"
            return visible(code), style + ink.style("code")
        case "html_inline":
            tag = token.content.replace(" ", "").lower()
            line_break = tag in {"<br>", "<br/>"}
            return ("\n" if line_break else visible(token.content)), style + ink.style("html")
        case "image":
            alt, target = visible(token.content), _target(token, "src")
            return (f"{alt} ({target})" if alt else target), style
        case _:
            return visible(token.content), style


def _target(token: Token, attribute: str) -> str:
    title = token.attrs.get("title")
    target = visible(str(token.attrs.get(attribute, "")))
    return f'{target} "{visible(str(title))}"' if title else target


def _end_link(text: Text, start: int, target: str, ink: Ink) -> None:
    """Put the whole address behind the link's text: what is printed is where it leads."""
    words = text.plain[start:]
    style = ink.style("url")
    if target in {words, f"mailto:{words}", f"http://{words}"}:
        text.stylize(style, start)
        return
    text.append(" (" if words else "(")
    text.append(target, style)
    text.append(")")
