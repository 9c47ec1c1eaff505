"""The three floors: the process, every error to a line and a code, and what was meant."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import chatcli.cli
from chatcli import __version__
from chatcli.app import App
from chatcli.cli.main import _TABLE, COMMANDS, UNMERGED, main, run, tree
from chatcli.core.errors import Blocked, ChatcliError, CutOff, SessionBusy
from chatcli.settings import Settings
from tests.architecture.source import ROOT
from tests.cli.given import Program, own_home, pipe_in

HERE = Path(chatcli.cli.__file__).parent


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Live in an empty home with an empty stdin."""
    pipe_in(monkeypatch, b"")
    return own_home(tmp_path, monkeypatch)


def test_the_table_is_what_the_modules_register() -> None:
    """Names, order aside, and the first sentence of each help; "" where it is hidden."""
    group = tree(COMMANDS)
    assert group.commands.keys() == COMMANDS.keys()
    registered = {
        name: "" if command.hidden else command.get_short_help_str(1000)
        for name, command in group.commands.items()
    }
    assert registered == {name: text for name, (_, text) in COMMANDS.items()}


def test_every_module_with_commands_is_in_the_table() -> None:
    """A new command file is found missing here, a merged one has left UNMERGED."""
    modules = {
        path.stem
        for path in HERE.glob("*.py")
        if "\ndef register(" in path.read_text(encoding="utf-8")
    }
    assert {module for module, _ in COMMANDS.values()} == modules
    assert not UNMERGED & modules
    assert {module for module, _ in _TABLE.values()} >= UNMERGED


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """On stdout, with code 0; the lines are not cut."""
    assert run(["--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for name, (_, text) in COMMANDS.items():
        assert (f"\n  {name} " in out) == bool(text)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_its_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`chatcli COMMAND --help` and `chatcli help COMMAND` are the same."""
    assert run([command, "--help"]) == 0
    first = capsys.readouterr().out
    assert first.startswith(f"Usage: chatcli {command}")
    assert run(["help", command]) == 0
    assert capsys.readouterr().out == first


def test_version_names_the_library_without_loading_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Its own version, llama-cpp-python's and Python's."""
    assert run(["--version"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"chatcli {__version__} (llama-cpp-python ")
    assert "llama_cpp" not in sys.modules


def _failing(error: BaseException) -> "type[App]":
    class Failing(App):
        def preload(self, model: str) -> None:
            raise error

    return Failing


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ChatcliError("it broke", "Mend it"), 1, "chatcli: it broke. Mend it\n"),
        (SessionBusy("it is\nopen\x1b[31m"), 1, "chatcli: it is open\u241b[31m\n"),
        (CutOff("cut"), 4, "chatcli: cut\n"),
        (Blocked("no"), 3, "chatcli: no\n"),
        (OSError(28, "No space left on device", "/x"), 1, "chatcli: /x: No space left on device\n"),
        (MemoryError(), 1, "chatcli: out of memory. Use a smaller model, input or --ctx-size\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 0, ""),
    ],
)
def test_errors_become_one_line_and_a_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, no control characters, nothing on stdout."""
    assert run(["hi"], _failing(error)) == code
    assert capsys.readouterr() == ("", line)


def test_an_unexpected_error_is_a_line_and_its_traceback_a_file(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    """The line says where; --debug and CHATCLI_DEBUG show it at once."""
    assert run(["hi"], _failing(ValueError("odd"))) == 1
    out, err = capsys.readouterr()
    log = home / "state" / "chatcli" / "logs" / "errors.log"
    said = f"chatcli: unexpected ValueError: odd. This is a bug; the traceback is in {log}\n"
    assert (out, err) == ("", said)
    assert "Traceback" in log.read_text(encoding="utf-8")
    for argv in (["--debug", "hi"], ["hi", "--debug"], ["ask", "hi", "--debug"]):
        assert run(argv, _failing(ValueError("odd"))) == 1
        assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_where_the_log_cannot_be_written_the_line_says_how_to_see(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    """A state folder that is a file must not hide the error."""
    (home / "state").write_text("in the way", encoding="utf-8")
    assert run(["hi"], _failing(ValueError("odd"))) == 1
    assert capsys.readouterr().err.endswith("This is a bug; --debug shows where\n")


def test_debug_behind_dashes_is_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """`chatcli -- --debug` asks about it."""
    program = Program()
    assert program.run("--", "what is", "--debug") == 0
    assert program.engine.prompts[0].asked[0].text == "what is --debug"


def test_the_environment_turns_debug_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """CHATCLI_DEBUG=0 is off."""
    monkeypatch.setenv("CHATCLI_DEBUG", "1")
    assert run(["hi"], _failing(ChatcliError("it broke"))) == 1
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("CHATCLI_DEBUG", "0")
    assert run(["hi"], _failing(ChatcliError("it broke"))) == 1
    assert capsys.readouterr().err == "chatcli: it broke\n"


def test_a_broken_settings_file_names_file_line_and_key(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    """One line, code 2, before any model is loaded."""
    (home / "config" / "chatcli").mkdir(parents=True)
    (home / "config" / "chatcli" / "config.yaml").write_text("\nmodle: x\n", encoding="utf-8")
    program = Program()
    assert program.run("hi") == 2
    err = capsys.readouterr().err
    assert "config.yaml, line 2: unknown key modle. Did you mean model?" in err
    assert (err.count("\n"), program.kept) == (1, [])


def test_the_default_app_is_made_of_the_settings() -> None:
    """A factory is used for its own call alone."""
    seen: list[Settings] = []

    def factory(settings: Settings) -> App:
        seen.append(settings)
        raise ChatcliError("enough")

    assert run(["hi", "-m", "x"], factory) == 1
    assert [settings.model for settings in seen] == ["x"]


def test_main_leaves_with_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    """The process ends with what `run` said."""
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    with pytest.raises(SystemExit) as left:
        main(["--nonsense"])
    assert left.value.code == 2


HEAVY = ("llama_cpp", "sqlite_utils", "prompt_toolkit", "numpy", "rich", "httpx", "jinja2", "yaml")


@pytest.mark.parametrize(
    ("argv", "more"),
    [(["--help"], ()), (["--version"], ("typer",)), (["ask", "--help"], ("chatcli.app",))],
)
def test_help_loads_nothing_that_it_does_not_use(argv: list[str], more: tuple[str, ...]) -> None:
    """No heavy library; typer without pydantic and without rich."""
    probe = (
        "import sys, json; from chatcli.cli.main import run; code = run(sys.argv[1:])\n"
        "print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *argv], check=True, cwd=ROOT, capture_output=True
    )
    code, loaded = json.loads(done.stderr)
    assert code == 0
    assert [name for name in (*HEAVY, "pydantic", *more) if name in loaded] == []


def test_a_question_loads_neither_pydantic_nor_rich(home: Path) -> None:
    """The hot path: options given as text, an answer to a pipe."""
    probe = (
        "import sys, json; from chatcli.cli.main import run; code = run(sys.argv[1:])\n"
        "print(json.dumps([code, sorted(sys.modules)]))"
    )
    command = [sys.executable, "-c", probe, "hi", "-m", "x", "-o", "temp", "0", "-n"]
    done = subprocess.run(
        command, check=True, cwd=ROOT, capture_output=True, stdin=subprocess.DEVNULL
    )
    _, loaded = json.loads(done.stdout.splitlines()[-1])
    unused = ("pydantic", "rich", "prompt_toolkit", "httpx", "yaml", "sqlite_utils")
    assert [name for name in unused if name in loaded] == []
