"""Settings as text, apart from the command."""

import json

from chatcli.cli.config_show import shown
from chatcli.settings import Loaded, Origin, Settings


def test_control_characters_are_shown_never_printed() -> None:
    """A value from a file cannot steer the terminal, in any of the forms."""
    loaded = Loaded(Settings(model="a\x1b[2Jb"), {"model": Origin("flag")})
    for key in ("", "model"):
        for origin in (False, True):
            for as_json in (False, True):
                assert "\x1b" not in shown(loaded, key, origin=origin, as_json=as_json)


def test_json_keeps_the_exact_value() -> None:
    """What is made visible in the text is exact in JSON."""
    loaded = Loaded(Settings(model="a\x1bb"), {})
    assert json.loads(shown(loaded, "model", origin=False, as_json=True)) == "a\x1bb"
