"""Every style that is drawn with is there, in both themes."""

from rich.style import Style
from rich.syntax import Syntax

from chatcli.terminal.theme import STYLES, SYNTAX


def test_themes_have_the_same_styles() -> None:
    """A style that one theme has, the other has too; all can be parsed; none has a background."""
    assert STYLES["dark"].keys() == STYLES["light"].keys()
    for theme in STYLES.values():
        assert all(Style.parse(style).bgcolor is None for style in theme.values())


def test_code_uses_the_terminals_palette() -> None:
    """Code is coloured in the 16 colours of the terminal, on its own background."""
    for name in SYNTAX.values():
        line = Syntax("x = 'a'  # b", "python", theme=name).highlight("x = 'a'  # b")
        styles = [span.style for span in line.spans if isinstance(span.style, Style)]
        assert styles
        assert all(s.bgcolor is None or s.bgcolor.is_default for s in styles)
        assert all(s.color is None or (s.color.number or 0) < 16 for s in styles)
