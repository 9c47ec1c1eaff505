"""`chatcli chat` and `run` as a script uses them: lines in, answers out."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chatcli.app import App
from chatcli.cli.main import run
from chatcli.core.session import SessionId
from chatcli.sessions.sqlite import SqliteStore
from chatcli.settings import Settings
from chatcli.testing import ScriptedEngine
from tests.cli.given import own_home, pipe_in

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def engine() -> ScriptedEngine:
    """The engine that every run of a test talks to."""
    return ScriptedEngine(context=60)


@pytest.fixture
def say(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    engine: ScriptedEngine,
) -> Say:
    """Return a function that runs one command line with lines on stdin."""
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)

    def go(*argv: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = run(argv, lambda settings: _app(settings, engine))
        out, err = capsys.readouterr()
        return code, out, err

    return go


def _app(settings: Settings, engine: ScriptedEngine) -> App:
    return App(settings, engines=engine)


def _titles(tmp_path: Path) -> list[str]:
    with SqliteStore(tmp_path / "data" / "chatcli" / "sessions.db") as store:
        return [session.title for session in store.sessions()]


def test_lines_are_answered_in_one_chat(say: Say, tmp_path: Path, engine: ScriptedEngine) -> None:
    """Nothing but the answers on stdout, no escape codes; one session is kept."""
    code, out, err = say("chat", "-m", "m", stdin="one\ntwo\n")
    assert (code, out, err) == (0, "You said: one\nYou said: two\n", "")
    assert len(engine.prompts[1].history) == 1
    assert _titles(tmp_path) == ["one"]


def test_an_empty_stdin_is_an_empty_chat(say: Say, tmp_path: Path) -> None:
    """Nothing is said and nothing is kept."""
    assert say("chat") == (0, "", "")
    assert _titles(tmp_path) == []


def test_options_reach_the_replies(say: Say, engine: ScriptedEngine) -> None:
    """System prompt, sampling, limits, stop strings, the usage line."""
    code, out, err = say(
        "chat", "-s", "Be brief", "-o", "temp", "0.1", "--max-tokens", "2", "--stop", "END",
        "-u", "-m", "m", stdin="one two three\n",
    )  # fmt: skip
    prompt = engine.prompts[0]
    assert code == 0
    assert out == "You said: one\n"
    assert (prompt.system, prompt.sampling.temperature) == ("Be brief", 0.1)
    assert (prompt.max_tokens, prompt.stop) == (2, ("END",))
    assert err.startswith("m | prompt")


def test_a_failed_line_makes_the_code_1(say: Say) -> None:
    """The other lines are answered."""
    code, out, err = say("chat", stdin=f"{'w ' * 100}\nok\n")
    assert (code, out) == (1, "You said: ok\n")
    assert err.startswith("chatcli: the input takes")
    assert err.count("\n") == 1


def test_a_chat_is_continued(say: Say, engine: ScriptedEngine) -> None:
    """By -c, or by its title; --fork leaves the original alone."""
    say("chat", stdin="apples\n")
    say("chat", "-c", stdin="pears\n")
    say("chat", "--cid", "apples", "--fork", stdin="plums\n")
    assert [len(prompt.history) for prompt in engine.prompts] == [0, 1, 2]
    assert say("chat", "-c", stdin="/tree\n")[1].count("\n") == 3
    assert say("chat", "--cid", "nothing")[0] == 1
    assert say("chat", "--fork")[0] == 2


def test_a_busy_chat_says_how_to_go_on(say: Say, tmp_path: Path) -> None:
    """In a script that is an error, and --fork is the remedy."""
    say("chat", stdin="apples\n")
    with SqliteStore(tmp_path / "data" / "chatcli" / "sessions.db") as store:
        latest = store.latest()
        assert latest is not None
        with store.hold(SessionId(latest.id)):
            code, out, err = say("chat", "-c", stdin="pears\n")
            assert (code, out) == (1, "")
            assert "--fork" in err
            assert say("chat", "-c", "--fork", stdin="pears\n")[0] == 0


def test_incognito_keeps_nothing(say: Say, tmp_path: Path) -> None:
    """No database, no history."""
    assert say("chat", "-n", stdin="secret\n")[1] == "You said: secret\n"
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert found == []


def test_run_answers_a_question_or_a_pipe(say: Say, engine: ScriptedEngine) -> None:
    """As in ollama; naming two models is an error."""
    assert say("run", "tiny", "what", "is", "it")[:2] == (0, "You said: what is it\n")
    assert say("run", "tiny", stdin="from a pipe")[0] == 0
    assert engine.model == "tiny"
    code, _, err = say("run", "-m", "other", "tiny", "what")
    assert code == 2
    assert "named twice" in err


def test_a_model_that_cannot_be_had_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script has one line to read, not one for each message."""
    own_home(tmp_path, monkeypatch)
    pipe_in(monkeypatch, b"one\ntwo\n")
    assert run(["chat", "-m", "gone.gguf"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
