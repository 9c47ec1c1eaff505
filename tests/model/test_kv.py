"""Both test models go on after a restart as if nothing had happened."""

import shutil
from pathlib import Path

import pytest

from chatcli.core.cancel import Cancel
from chatcli.core.event import Generated
from chatcli.core.message import user
from chatcli.core.ports import Exchange, Prompt
from chatcli.core.sampling import Sampling
from chatcli.engine.facade import LlamaEngine
from chatcli.settings import Settings

GREEDY = Sampling(temperature=0.0)
FACTS = " ".join(f"Fact {i}: the number {i * i % 97} comes after {i * 7 % 89}." for i in range(200))


def _engine(path: Path, cache: Path, patch: pytest.MonkeyPatch) -> LlamaEngine:
    patch.setenv("XDG_CACHE_HOME", str(cache))
    return LlamaEngine("m", path, Settings(), lambda _level, _text: None)


def _say(engine: LlamaEngine, prompt: Prompt) -> Generated:
    *_, last = engine.generate(prompt, Cancel())
    assert isinstance(last, Generated)
    return last


@pytest.mark.parametrize(("name", "n_chars"), [("smollm2", 4800), ("qwen_coder", 1200)])
def test_a_fresh_engine_evaluates_the_new_question_alone(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    n_chars: int,
) -> None:
    """A chat of 2,000 tokens is read back, and the greedy reply is that of the unbroken run."""
    path: Path = request.getfixturevalue(name)
    unbroken = _engine(path, tmp_path / "one", monkeypatch)
    asked = (user(FACTS[:n_chars]),)
    first = _say(unbroken, Prompt(asked=asked, sampling=GREEDY, max_tokens=16, session="s"))
    assert unbroken._keeper is not None
    unbroken._keeper._store.flush()
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    history = (Exchange(asked, first.reply, first.record),)
    again = (user("Which of these facts is the strangest? Tell me why."),)
    question = Prompt(asked=again, history=history, sampling=GREEDY, max_tokens=100)
    expected = _say(unbroken, question)
    unbroken.close()

    fresh = _engine(path, tmp_path / "two", monkeypatch)
    done = _say(fresh, question)
    fresh.close()
    assert done.usage.reused_memory == 0
    assert done.usage.reused_disk == expected.usage.reused_memory
    assert done.usage.evaluated == expected.usage.evaluated < 40
    assert done.reply == expected.reply
    assert done.record == expected.record
    if name == "smollm2":
        assert done.usage.reused_disk > 1900
