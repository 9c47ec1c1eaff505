"""Print what chatcli does with each chat template of a folder: `eval_templates.py FOLDER`.

Renders: a plain conversation (system, user, assistant, user). Stable: every id of a chat of
ten turns was evaluated once, with plain replies; with reasoning: with replies that think.
"""

import sys
from pathlib import Path

from chatcli.core.errors import TemplateError
from chatcli.engine.stability import Course, stability
from chatcli.engine.template import ChatTemplate

CHAT = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": "How are you?"},
]


def shown(course: Course) -> str:
    """Describe one course in a table cell."""
    if course.is_stable:
        return "all kept"
    where = "last turn" if course.within_last_turn else "older"
    return f"{100 * course.kept / course.held:.1f} % kept, {where} again"


def main(folder: Path) -> int:
    """Print the table and the totals."""
    paths = sorted(folder.glob("*.jinja"))
    rendered = stable = thinking = bounded = 0
    print("| template | renders | plain replies | replies with reasoning | fallback |")
    print("|---|---|---|---|---|")
    for path in paths:
        template = ChatTemplate(path.read_text(encoding="utf-8"), bos="<s>", eos="</s>")
        try:
            template.render(CHAT)
            outcome = stability(template)
        except TemplateError as error:
            print(f"| {path.stem} | no: {error.message} | | | |")
            continue
        rendered += 1
        stable += outcome.plain.is_stable
        thinking += outcome.thinking.is_stable
        bounded += outcome.plain.within_last_turn and outcome.thinking.within_last_turn
        cells = (shown(outcome.plain), shown(outcome.thinking), ", ".join(template.fallbacks))
        print(f"| {path.stem} | yes | {' | '.join(cells)} |")
    print(
        f"\n{rendered} of {len(paths)} render; {stable} keep everything with plain replies, "
        f"{thinking} with reasoning; {bounded} never go back behind the last turn."
    )
    return 0 if rendered == len(paths) else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: eval_templates.py FOLDER")
    sys.exit(main(Path(sys.argv[1])))
