"""A chatcli whose model is scripted: what the tests of the command line run as a child.

SCRIPT (JSON in the first argument): `replies` as ScriptedEngine takes them, `pause_s`,
`context`, and `prompts`, a file that gets a line of JSON for each prompt that the engine saw.
The store and the settings are the real ones.
"""

import json
import sys
from pathlib import Path

from chatcli.app import App
from chatcli.cli.main import main
from chatcli.settings import Settings
from chatcli.testing import ScriptedEngine


def _app(settings: Settings) -> App:
    return App(settings, engines=engine)


def _keep_prompts() -> None:
    with Path(script["prompts"]).open("a", encoding="utf-8") as file:
        for prompt in engine.prompts:
            seen = {
                "asked": [message.content for message in prompt.asked],
                "history": [exchange.reply.text for exchange in prompt.history],
                "system": prompt.system,
                "stop": prompt.stop,
                "max_tokens": prompt.max_tokens,
                "temperature": prompt.sampling.temperature,
                "seed": prompt.sampling.seed,
                "constraint": prompt.constraint.kind if prompt.constraint else None,
            }
            file.write(f"{json.dumps(seen)}\n")


if __name__ == "__main__":
    script = json.loads(sys.argv[1])
    engine = ScriptedEngine(
        [[tuple(p) if isinstance(p, list) else p for p in r] for r in script["replies"]],
        context=script["context"],
        pause_s=script["pause_s"],
    )
    try:
        main(sys.argv[2:], app_factory=_app)
    finally:
        if script["prompts"]:
            _keep_prompts()
