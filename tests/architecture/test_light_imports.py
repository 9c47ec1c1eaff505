"""What every start pays for is light."""

import json
import subprocess
import sys

from tests.architecture.source import PACKAGE, ROOT, files, module_name

HEAVY = [
    *("llama_cpp", "sqlite_utils", "prompt_toolkit", "numpy", "rich", "httpx", "jinja2", "yaml"),
]

# Prints {heavy module: the module of ours whose import brought it in}.
_PROBE = """
import importlib, json, sys
ours, heavy, blame = json.loads(sys.argv[1]), json.loads(sys.argv[2]), {}
for name in ours:
    importlib.import_module(name)
    for found in set(heavy) & sys.modules.keys():
        blame.setdefault(found, name)
print(json.dumps(blame))
"""


def brought_in(modules: list[str]) -> object:
    """Return which heavy modules come with `modules`, and by whose fault."""
    command = [sys.executable, "-c", _PROBE, json.dumps(modules), json.dumps(HEAVY)]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_vocabulary_settings_and_command_line_import_nothing_heavy() -> None:
    """`chatcli --help` and the first prompt do not wait for a library that they do not use."""
    commands = [p for p in files(PACKAGE / "cli") if "\ndef register(" in p.read_text("utf-8")]
    paths = [*files(PACKAGE / "core"), PACKAGE / "cli" / "main.py", *commands]
    modules = [module_name(path) for path in paths]
    assert brought_in(["chatcli.paths", "chatcli.settings", "chatcli.extras", *modules]) == {}


def test_the_probe_sees_a_heavy_import() -> None:
    """A module that does import yaml is blamed for it."""
    assert brought_in(["chatcli.paths", "chatcli.settings.document"]) == {
        "yaml": "chatcli.settings.document"
    }
