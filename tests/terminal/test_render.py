"""`show`: which way a turn is drawn, and what it looks like.

The golden files in `tests/snapshots/` are what is written to the terminal, with escape codes
spelled as `{codes}`. To renew them after a wanted change of looks, run
`UPDATE_SNAPSHOTS=1 python -m pytest tests/terminal/test_render.py` and read the difference.
"""

import dataclasses
import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatcli.core.event import Event
from chatcli.terminal import render
from chatcli.terminal.env import Env
from chatcli.terminal.render import Look, show, warm
from tests.terminal.screen import Screen, err, memory_env, out, turn_of

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"

TOUR = """\
# A tour

Some **bold**, *italic*, ~~struck~~ words, `code` and a [link](https://example.org/page).

1. First item
2. Second item, with enough words to be wrapped in a narrow terminal
   - nested

```python
def double(x: int) -> int:
    return 2 * x  # twice
```

| Name | Value |
|:-----|------:|
| one  | 1     |
| two  | 2,000 |

> Quoted
> words.

---

<details>Some HTML</details>
"""
WIDE = """\
## 日本語の見出し

これは長い日本語の文章です。端末の幅で折り返されるはずですが、句読点が行頭に来ないことを確認します。

- 한국어 항목 👍🏽
- e\u0301 combining, 👩\u200d👩\u200d👧 joined, 🇩🇪 flag

| 名前 | 値 |
|---|---|
| 東京 | 👩\u200d👩\u200d👧 |
"""


def spelled(text: str) -> str:
    """Return text with its escape codes in readable form."""
    return re.sub(r"\x1b\[([?\d;]*[a-zA-Z])", r"{\1}", text).replace("\r", "{CR}")


def check(name: str, text: str) -> None:
    """Compare with a golden file, or write it when UPDATE_SNAPSHOTS is set."""
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def _no_color(env: Env) -> Env:
    return dataclasses.replace(env, color=False, color_err=False)


@pytest.mark.parametrize(
    ("name", "env", "source"),
    [
        ("tty-dark", memory_env(tty=True), TOUR),
        ("tty-light", memory_env(tty=True, dark=False), TOUR),
        ("no-color", _no_color(memory_env(tty=True)), TOUR),
        ("pipe", memory_env(tty=False), TOUR),
        ("columns-40", memory_env(tty=True, size=(40, 24)), TOUR),
        ("cjk-emoji", memory_env(tty=True, size=(40, 24)), WIDE),
    ],
)
def test_snapshots(name: str, env: Env, source: str) -> None:
    """The looks of a reply in each mode, and where its parts go."""
    warm()
    show(turn_of([source], ["Let me think."]), env, Look(theme=env.theme))
    parts = f"{spelled(out(env))}\n== stderr ==\n{spelled(err(env))}"
    check(name, parts)


def test_a_pipe_gets_the_markdown_itself() -> None:
    """Outside a terminal the reply is not drawn."""
    env = memory_env(tty=False)
    show(turn_of(list(TOUR)), env, Look())
    assert out(env) == TOUR


@pytest.mark.parametrize(
    ("env", "look"),
    [
        (memory_env(tty=True), Look(markdown=False)),
        (dataclasses.replace(memory_env(tty=True), cursor=False), Look()),
    ],
)
def test_raw_and_dumb_terminals_get_plain_text(env: Env, look: Look) -> None:
    """--raw and a terminal that cannot move its cursor: the text as it comes."""
    show(turn_of(["**bold** ", "text"]), env, look)
    assert out(env) == "**bold** text\n"


def test_reasoning_above_the_answer() -> None:
    """On a terminal: a label, dim text, a blank line, the answer."""
    env = memory_env(tty=True)
    warm()
    show(turn_of(["# An", "swer"], ["Hm", ", so."]), env, Look())
    screen = Screen(80, 24)
    screen.feed(out(env))
    assert screen.lines == ["Thinking:", "Hm, so.", "", "Answer"]


def test_the_first_token_does_not_wait_for_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """While Markdown is still being imported the first words are shown, then taken over."""
    monkeypatch.setattr(render, "warm", lambda: time.sleep(0.3))
    env = memory_env(tty=True)
    seen = []

    def events() -> Iterator[Event]:
        for event in turn_of(["Hello", " there", " **you**", "\n\nEnd"]):
            yield event
            seen.append(out(env))

    show(events(), env, Look())
    assert "Hello" in seen[:4]
    assert "Hello there" in seen[:5]
    screen = Screen(80, 24)
    screen.feed(out(env))
    assert screen.lines == ["Hello there you", "", "End"]


def test_nothing_heavy_is_imported_with_render() -> None:
    """Importing `show` imports no rich and no Markdown parser; `warm` does."""
    program = (
        "import sys, chatcli.terminal.render as render\n"
        "heavy = ('rich', 'markdown_it', 'pygments', 'prompt_toolkit')\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "render.warm()\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n['rich', 'markdown_it', 'pygments']\n"


def test_an_interrupted_reply_leaves_a_clean_line() -> None:
    """A second Ctrl-C in the middle: what came is printed, the cursor is back, it goes on up."""
    warm()
    env = memory_env(tty=True)

    def events() -> Iterator[Event]:
        yield from itertools.islice(turn_of(["Some **ha", "lf a sentence", " more"]), 4)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        show(events(), env, Look())
    screen = Screen(80, 24)
    screen.feed(out(env))
    assert screen.lines == ["Some **half a sentence"]
    assert screen.screen.cursor.x == 0
    assert not screen.screen.cursor.hidden
