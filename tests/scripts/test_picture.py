"""The picture of a terminal screen."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

PICTURE = Path(__file__).parents[2] / "scripts" / "picture.py"


def test_a_picture_of_a_screen(tmp_path: Path) -> None:
    """Text with escape codes becomes a valid SVG that loads nothing from anywhere."""
    screen = tmp_path / "screen.txt"
    screen.write_text("\x1b[1;96mTitle\x1b[0m\n\x1b[2m>>>\x1b[0m 日本 & <b>\n", encoding="utf-8")
    command = [sys.executable, str(PICTURE), str(screen), "--columns", "30", "--title", "chatcli"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    root = ET.fromstring(done.stdout)
    shown = "".join(root.itertext())
    assert all(word in shown for word in ("Title", ">>>", "日本", "&", "<b>", "chatcli"))
    for known in ("http://www.w3.org/2000/svg", "https://www.textualize.io"):
        done.stdout = done.stdout.replace(known, "")
    assert "http" not in done.stdout
    assert "@font-face" not in done.stdout
