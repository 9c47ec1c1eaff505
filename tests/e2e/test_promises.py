"""What the README promises, on the installed program and the embedded model."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(clean_home: dict[str, str], smollm2: Path) -> dict[str, str]:
    """A new user who has the embedded model and chose it."""
    return clean_home | {"CHATCLI_MODEL": str(smollm2)}


@pytest.fixture
def chatcli(installed_chatcli: Path, home: dict[str, str], tmp_path: Path) -> Run:
    """Run the program to its end; stdin is empty unless given."""

    def run(*args: str, stdin: str = "", check: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [installed_chatcli, *args],
            input=stdin,
            env=home,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        # None: done, or cut by the limit of tokens.
        assert done.returncode in ((0, 4) if check is None else (check,)), done.stderr
        return done

    return run


def test_a_pipe_gets_the_answer_and_nothing_else(chatcli: Run) -> None:
    """No banner, no escape codes, one line feed at the end, nothing on stderr."""
    args = ("Repeat the last line", "--temp", "0", "-q", "--max-tokens", "40")
    done = chatcli(*args, stdin="line one\nline two\n", check=None)
    assert done.stdout.strip()
    assert done.stdout.endswith("\n")
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr == ""


def test_a_reader_that_goes_away_ends_it_quietly(
    installed_chatcli: Path, home: dict[str, str], tmp_path: Path
) -> None:
    """`| head -c 1` shows one character and no traceback."""
    command = f'"{installed_chatcli}" "Tell me a long story" | head -c 1'
    done = subprocess.run(
        ["bash", "-c", command],
        stdin=subprocess.DEVNULL,
        env=home,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(done.stdout) == 1
    assert done.stderr == ""


def test_a_chat_goes_on_in_another_process(chatcli: Run) -> None:
    """Five turns, each in a process of its own: the context is the whole chat."""
    prompts = []
    short = ("--temp", "0", "--max-tokens", "20")
    chatcli("Say one word about rain.", *short, check=None)
    for i in range(4):
        done = chatcli("-c", f"And about the number {i}?", "--json", *short, check=None)
        prompts.append(json.loads(done.stdout)["usage"]["prompt"])
    assert prompts == sorted(prompts)
    shown = chatcli("sessions", "show", json.loads(done.stdout)["session"]).stdout
    assert "Say one word about rain." in shown
    assert "And about the number 3?" in shown


def test_inside_one_process_only_new_tokens_are_evaluated(chatcli: Run) -> None:
    """`--usage` counts, turn by turn, what was evaluated and what was reused."""
    lines = "".join(f"Say hello number {i}.\n" for i in range(4))
    done = chatcli("chat", "-u", "--temp", "0", "--max-tokens", "30", stdin=lines)
    usage = [line for line in done.stderr.splitlines() if "reused" in line]
    assert len(usage) == 4
    assert "+ 0 reused" in usage[0]
    assert all("+ 0 reused" not in line for line in usage[1:])


SEEDS = [str(seed) for seed in range(8)]
"""Some replies end by themselves before they can be interrupted."""


def _ids(chatcli: Run) -> list[str]:
    """Return the ids of all sessions."""
    return [s["id"] for s in json.loads(chatcli("sessions", "list", "--all", "--json").stdout)]


def _start(program: Path, home: dict[str, str], cwd: Path, *args: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [program, *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=home,
        cwd=cwd,
        text=True,
    )


def _read(process: "subprocess.Popen[str]", n: int) -> str:
    assert process.stdout is not None
    return "".join(process.stdout.read(1) for _ in range(n))


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143), (1, 129)])
def test_a_signal_keeps_what_was_shown(
    installed_chatcli: Path,
    home: dict[str, str],
    tmp_path: Path,
    chatcli: Run,
    number: int,
    code: int,
) -> None:
    """Ctrl-C, SIGTERM and SIGHUP: the exit code tells which, and the partial reply is kept."""
    for seed in SEEDS:
        question = ("Tell me a very long story about the sea.", "--seed", seed)
        story = _start(installed_chatcli, home, tmp_path, *question)
        shown = _read(story, 60)
        story.send_signal(number)
        assert story.stdout is not None
        assert story.stderr is not None
        with story.stdout, story.stderr:  # not communicate(): it would lose what is buffered
            rest, said = story.stdout.read(), story.stderr.read()
        if story.wait(60) not in (0, 4):  # else it had ended by itself
            break
        chatcli("sessions", "rm", "-y", *_ids(chatcli))
    assert story.returncode == code
    assert "Traceback" not in said
    kept = _kept(chatcli)
    assert kept.rstrip("\n") == (shown + rest).rstrip("\n")


def _kept(chatcli: Run) -> str:
    """Return the reply of the only session."""
    listed = json.loads(chatcli("sessions", "list", "--all", "--json").stdout)
    (session,) = listed
    exported = json.loads(chatcli("sessions", "export", session["id"], "-f", "json").stdout)
    text = json.dumps(exported)
    assert text
    turns = exported["sessions"][0]["turns"] if "sessions" in exported else exported["turns"]
    parts = turns[-1]["reply"]["parts"]
    return "".join(part.get("text", "") for part in parts)


def test_kill_nine_keeps_what_was_shown(
    installed_chatcli: Path, home: dict[str, str], tmp_path: Path, chatcli: Run
) -> None:
    """All earlier turns and the shown part of the last reply are there afterwards."""
    chatcli("Say hi.", "--temp", "0", "--max-tokens", "20", check=None)
    for seed in SEEDS:
        question = ("-c", "Tell me a very long story.", "--seed", seed)
        story = _start(installed_chatcli, home, tmp_path, *question)
        shown = _read(story, 80)
        os.kill(story.pid, signal.SIGKILL)
        story.communicate()
        if story.returncode == -signal.SIGKILL and len(shown) == 80:
            break  # else it had ended by itself
    time.sleep(0.05)
    listed = json.loads(chatcli("sessions", "list", "--all", "--json").stdout)
    text = chatcli("sessions", "show", listed[0]["id"]).stdout
    assert "Say hi." in text
    assert "Tell me a very long story." in text
    assert " ".join(shown.split()) in " ".join(text.split())
    assert "interrupted" in text


def test_a_schema_gives_json_and_nothing_else(chatcli: Run) -> None:
    """Inline schema; the output parses."""
    schema = '{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9}},'
    done = chatcli("Pick a number", "--schema", schema + '"required":["n"]}')
    assert 1 <= json.loads(done.stdout)["n"] <= 9


def test_a_limit_that_cuts_is_exit_four(chatcli: Run) -> None:
    """A cut constrained output prints nothing; a cut answer is printed. Both exit 4."""
    schema = '{"type":"string","minLength":200}'
    done = chatcli("x", "--schema", schema, "--max-tokens", "5", check=4)
    assert done.stdout == ""
    assert "nothing was printed" in done.stderr
    done = chatcli("Tell me a story", "--max-tokens", "5", check=4)
    assert done.stdout.strip()


def test_too_long_an_input_says_by_how_much(chatcli: Run) -> None:
    """Nothing is dropped: the error counts tokens."""
    done = chatcli("Summarise", stdin="word " * 20_000, check=1)
    assert "more than the" in done.stderr
    assert "--overflow" in done.stderr
    assert done.stdout == ""


def test_incognito_leaves_nothing(chatcli: Run, home: dict[str, str]) -> None:
    """`-n` writes no session, no history, no log."""
    chatcli("Say hi", "-n", "--max-tokens", "20", "--temp", "0", check=None)
    files = [p for p in Path(home["HOME"]).rglob("*") if p.is_file()]
    assert [p.name for p in files if p.name not in {"self-test.json", "identities.json"}] == []
