"""What the shell offers behind an option."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chatcli import paths
from chatcli.cli.completion import model_names, name_ask, option_keys, session_ids, words
from chatcli.cli.main import COMMANDS
from chatcli.core.session import Session, SessionId
from chatcli.sessions.sqlite import SqliteStore
from tests.architecture.source import ROOT
from tests.cli.given import own_home


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Live in an empty home."""
    return own_home(tmp_path, monkeypatch)


def test_words_and_keys_are_completed_by_their_beginning() -> None:
    """Sampling keys by their short names, the others dotted."""
    assert words("auto", "always", "never")("a") == ["auto", "always"]
    assert option_keys("top_") == ["top_k", "top_p", "top_n_sigma"]
    assert "engine.threads" in option_keys("engine.")


def test_models_come_from_the_catalogue_too() -> None:
    """On a machine without any model the names are there."""
    assert "smollm2:135m" in model_names("smol")
    assert model_names("no such") == []


def test_sessions_come_with_their_titles(home: Path) -> None:
    """By the beginning of the id; a machine without sessions stays without a database."""
    assert session_ids("") == []
    assert not paths.sessions_file().exists()
    with SqliteStore(paths.sessions_file()) as store:
        store.create(
            Session(id=SessionId("abcd1234"), kind="ask", model="m", clock=0.0, title="On\x1b cats")
        )
    assert session_ids("ab") == [("abcd1234", "On\u241b cats")]
    assert session_ids("x") == []


def test_a_broken_database_offers_nothing(home: Path) -> None:
    """And says nothing: it would land in the user's line."""
    paths.sessions_file().parent.mkdir(parents=True)
    paths.sessions_file().write_bytes(b"not a database" * 100)
    assert session_ids("") == []


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("chatcli -m smo", "chatcli ask -m smo"),
        ("chatcli 'what is' -", "chatcli ask 'what is' -"),
        ("chatcli list -", None),
        ("chatcli li", None),
        ("chatcli ", None),
    ],
)
def test_ask_is_put_where_it_may_be_left_out(line: str, named: str | None) -> None:
    """The word being typed may still become a command; an option or a whole word may not."""
    environ = {"_TYPER_COMPLETE_ARGS": line}
    name_ask(environ, COMMANDS)
    assert environ["_TYPER_COMPLETE_ARGS"] == (named or line)


def _shell(*command: str, **more: str) -> str:
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | more,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_bash_completes_commands_options_and_models(tmp_path: Path) -> None:
    """With the very script that --show-completion prints, in a real bash."""
    program = tmp_path / "chatcli"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m chatcli "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    script = _shell("chatcli", "--show-completion", "bash", PATH=path)
    assert "complete -o default -F _chatcli_completion chatcli" in script
    lines = [("chatcli", "pul"), ("chatcli", "-m", "smol"), ("chatcli", "hi", "--sche")]
    found = []
    for line in lines:
        words_ = " ".join(f"'{word}'" for word in line)
        ask = f"COMP_WORDS=({words_}); COMP_CWORD={len(line) - 1}; _chatcli_completion chatcli"
        text = f'{script}\n{ask}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
        found.append(_shell("bash", "-c", text, PATH=path).split())
    assert found[0] == ["pull"]
    assert "smollm2:135m" in found[1]
    assert found[2] == ["--schema"]


def test_zsh_gets_a_script_and_an_answer() -> None:
    """What zsh would evaluate names the options."""
    script = _shell(sys.executable, "-m", "chatcli", "--show-completion", "zsh")
    assert script.startswith("#compdef chatcli")
    answer = _shell(
        *(sys.executable, "-m", "chatcli"),
        _CHATCLI_COMPLETE="complete_zsh",
        _TYPER_COMPLETE_ARGS="chatcli -o top_",
    )
    assert '"top_k"' in answer
