"""Print the figures that need the development data: ``make eval DATA=../shared/data``.

One section for each set of data that is there. A section that fails is told, and the exit
code is then 1.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SECTIONS = (("Chat templates", "eval_templates.py", "chat_templates"),)
"""Title, script, and the folder of the data that it reads."""


def main() -> int:
    """Run each section on its folder below the one named on the command line."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: eval.py FOLDER_OF_DATA\n")
        return 2
    data = Path(sys.argv[1])
    worst = 0
    for title, script, folder in SECTIONS:
        place = data / folder
        if not place.is_dir():
            sys.stderr.write(f"{title}: {place} is missing\n")
            worst = 1
            continue
        sys.stdout.write(f"## {title}\n\n")
        sys.stdout.flush()
        command = [sys.executable, str(ROOT / "scripts" / script), str(place)]
        worst = max(worst, subprocess.run(command, cwd=ROOT, check=False).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
