"""The program as scripts use it: real child processes, pipes, files and signals."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

CHILD = str(Path(__file__).with_name("scripted.py"))
SLOW_S = 0.05
"""Long enough between two pieces that a signal comes in mid-reply."""


class Shell:
    """Starts chatcli with a scripted model in a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.prompts = home / "prompts.jsonl"
        kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
        self.environ = {
            **kept,
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            **{f"XDG_{n}_HOME": str(home / n) for n in ("CONFIG", "DATA", "CACHE", "STATE")},
        }

    def command(
        self, argv: Sequence[str], replies: Sequence[Sequence[object]], pause_s: float = 0.0
    ) -> list[str]:
        """Return the command line of a child."""
        script = {"replies": replies, "pause_s": pause_s, "context": 4096}
        return [
            *(sys.executable, CHILD),
            json.dumps({**script, "prompts": str(self.prompts)}),
            *argv,
        ]

    def run(
        self, *argv: str, replies: Sequence[Sequence[object]] = (), stdin: bytes = b""
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run to the end; stdin is a pipe with these bytes."""
        return subprocess.run(
            self.command(argv, replies),
            input=stdin,
            capture_output=True,
            check=False,
            env=self.environ,
            cwd=self.home,
            timeout=60,
        )

    def start(
        self, *argv: str, replies: Sequence[Sequence[object]], pause_s: float = SLOW_S
    ) -> "subprocess.Popen[bytes]":
        """Start a child with an empty stdin and return it."""
        return subprocess.Popen(
            self.command(argv, replies, pause_s),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environ,
            cwd=self.home,
        )

    def seen(self) -> list[dict[str, object]]:
        """Return what the model was given, prompt by prompt."""
        return [json.loads(line) for line in self.prompts.read_text("utf-8").splitlines()]

    def last_reply(self) -> tuple[str, str]:
        """Return the latest session's last reply and how it finished, as the store has them."""
        probe = (
            "from chatcli import paths; from chatcli.sessions.sqlite import SqliteStore\n"
            "with SqliteStore(paths.sessions_file()) as s:\n"
            "    t = s.turns(s.latest().id)[-1]; print(repr((t.reply.text, t.finish)))"
        )
        done = subprocess.run(
            [sys.executable, "-c", probe], capture_output=True, env=self.environ, check=True
        )
        text, finish = eval(done.stdout)  # a tuple of two strings that we printed
        return text, finish


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a shell in an empty home."""
    return Shell(tmp_path)


LONG = [[f"word{i} " for i in range(400)]]


def _stopped(shell: Shell, number: int) -> tuple[int, bytes, bytes]:
    child = shell.start("tell me", replies=LONG)
    assert child.stdout is not None
    first = os.read(child.stdout.fileno(), 5)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    return child.returncode, first + out, err


def test_stdout_is_the_answer_and_stderr_is_empty(shell: Shell) -> None:
    """`chatcli "question"` writes the answer with one line feed, and nothing else."""
    done = shell.run("what", "is", "it?", replies=[["It ", "is **this**.\n\n"]])
    assert (done.returncode, done.stdout, done.stderr) == (0, b"It is **this**.\n", b"")
    assert shell.seen()[0]["asked"] == ["what is it?"]


def test_stdin_stands_before_the_instruction(shell: Shell, tmp_path: Path) -> None:
    """stdin, then the attachments, then the words: documents stay a shared prefix."""
    (tmp_path / "notes.txt").write_text("a note", encoding="utf-8")
    done = shell.run("Sum up", "-a", "notes.txt", stdin=b"line one\nline two\n")
    assert done.returncode == 0, done.stderr
    assert shell.seen()[0]["asked"] == [
        "[stdin]\nline one\nline two\n\n[notes.txt]\na note\n\nSum up"
    ]


def test_stdin_alone_is_the_prompt(shell: Shell) -> None:
    """`cmd | chatcli` asks what the pipe says, with no wrapping."""
    assert shell.run(stdin=b"what is 1 + 1?\n").returncode == 0
    assert shell.seen()[0]["asked"] == ["what is 1 + 1?\n"]


def test_an_empty_stdin_counts_only_where_nothing_else_is_asked(shell: Shell) -> None:
    """Under cron and `< /dev/null` a question is answered; without one it is a usage error."""
    assert shell.run("hello").returncode == 0
    assert shell.seen()[0]["asked"] == ["hello"]
    done = shell.run()
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"chatcli: there is nothing to ask.")
    assert done.stderr.count(b"\n") == 1


def test_no_escape_code_reaches_a_file(shell: Shell, tmp_path: Path) -> None:
    """Markdown, code and reasoning, with colours forced and a terminal named: a file is plain."""
    shell.environ |= {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "COLORTERM": "truecolor"}
    replies = [[["reasoning", "hm"], "# Title\n", "```python\nprint(1)\n```\n"]]
    with (tmp_path / "f").open("wb") as file:
        command = shell.command(["hi"], replies)
        subprocess.run(command, stdout=file, env=shell.environ, check=True, stdin=-3, stderr=-3)
    assert (tmp_path / "f").read_bytes() == b"# Title\n```python\nprint(1)\n```\n"


def test_reasoning_goes_to_stderr_and_can_be_hidden(shell: Shell) -> None:
    """stdout has the answer alone, with -R stderr is empty."""
    replies = [[["reasoning", "let me think"], "42"]]
    shown = shell.run("why?", replies=replies)
    assert (shown.stdout, b"let me think" in shown.stderr) == (b"42\n", True)
    hidden = shell.run("why?", "-R", replies=replies)
    assert (hidden.stdout, hidden.stderr) == (b"42\n", b"")


def test_continue_goes_on_in_another_process(shell: Shell) -> None:
    """-c takes the latest session up, with its whole history."""
    assert shell.run("my name is Ada", replies=[["Hello Ada"]]).returncode == 0
    assert shell.run("-c", "what is my name?", replies=[["Ada"]]).stdout == b"Ada\n"
    assert shell.seen()[1]["history"] == ["Hello Ada"]
    assert shell.run("-c", "thanks").returncode == 0
    assert shell.seen()[2]["history"] == ["Hello Ada", "Ada"]


def test_ctrl_c_exits_130_and_keeps_what_was_shown(shell: Shell) -> None:
    """The partial reply is in the store, marked as cancelled, with no mark in its text."""
    code, out, err = _stopped(shell, signal.SIGINT)
    text, finish = shell.last_reply()
    assert (code, err, finish) == (130, b"", "cancelled")
    assert text.strip() == out.decode().strip()
    assert text.startswith("word0 ")
    assert len(text.split()) < 400


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_asked_to_go_it_keeps_what_was_shown(shell: Shell, number: int, code: int) -> None:
    """SIGTERM and SIGHUP end the reply as Ctrl-C does, with their own codes."""
    left, out, err = _stopped(shell, number)
    assert (left, err) == (code, b"")
    assert shell.last_reply()[0].strip() == out.decode().strip()


def test_a_closed_pipe_is_a_quiet_end(shell: Shell) -> None:
    """`| head -c 1`: nothing on stderr, code 0, and the turn is kept as far as it was made."""
    child = shell.start("tell me", replies=LONG, pause_s=0.005)
    assert child.stdout is not None
    assert child.stderr is not None
    assert os.read(child.stdout.fileno(), 1) == b"w"
    child.stdout.close()
    assert (child.wait(timeout=60), child.stderr.read()) == (0, b"")
    child.stderr.close()
    text, finish = shell.last_reply()
    assert finish == "cancelled"
    assert text.startswith("word0 ")
    assert len(text.split()) < 400


def test_a_pipe_closed_before_the_first_word_is_quiet_too(shell: Shell) -> None:
    """Also where the whole output is one short write that fails at the end."""
    for argv in (["--version"], ["--help"], ["hi", "--json"]):
        child = shell.start(*argv, replies=[["x"]])
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert (child.wait(timeout=60), child.stderr.read()) == (0, b"")
        child.stderr.close()


def test_a_full_disk_behind_stdout_is_one_line(shell: Shell) -> None:
    """`chatcli "hi" > /dev/full`: what happened in one line, exit code 1, the turn kept."""
    with Path("/dev/full").open("wb") as full:
        command = shell.command(["hi"], [["some ", "words"]])
        done = subprocess.run(
            command, stdout=full, stderr=-1, stdin=-3, env=shell.environ, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"chatcli: No space left on device\n"
    assert shell.last_reply()[1] == "cancelled"


def test_started_without_its_streams_it_still_works(shell: Shell) -> None:
    """`chatcli "hi" <&- >&- 2>&-` answers nobody, and keeps the answer."""
    script = 'exec "$@" <&- >&- 2>&-'
    command = ["sh", "-c", script, "sh", *shell.command(["hi"], [["heard"]])]
    done = subprocess.run(command, env=shell.environ, check=False, timeout=60)
    assert done.returncode == 0
    assert shell.last_reply() == ("heard", "stop")


def test_an_answer_starts_before_it_is_complete(shell: Shell) -> None:
    """In a pipe the pieces come as they are made; with --no-stream in one go at the end."""
    child = shell.start("hi", replies=LONG)
    assert child.stdout is not None
    began_s = time.monotonic()
    assert os.read(child.stdout.fileno(), 4) == b"word"
    assert time.monotonic() - began_s < 400 * SLOW_S
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    held = shell.start("hi", "--no-stream", replies=[["a ", "b ", "c"]])
    assert held.stdout is not None
    assert os.read(held.stdout.fileno(), 100).startswith(b"a b c")
    assert held.communicate(timeout=60)[0].strip() == b""


def test_nothing_of_an_incognito_question_is_written(shell: Shell, tmp_path: Path) -> None:
    """-n leaves no session, no log and no file behind."""
    shell.prompts = tmp_path / "outside.jsonl"
    assert shell.run("a secret", "-n", replies=[["hush"]]).stdout == b"hush\n"
    left = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert left == {"outside.jsonl"}


def test_a_broken_settings_file_is_one_line_with_its_place(shell: Shell) -> None:
    """The file, the line and the nearest key; also from `python -m chatcli`."""
    config = Path(shell.environ["XDG_CONFIG_HOME"]) / "chatcli" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("modle: x\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "chatcli", "hi"],
        capture_output=True,
        stdin=-3,
        check=False,
        env=shell.environ,
    )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"config.yaml, line 1" in done.stderr
    assert b"Did you mean model?" in done.stderr
