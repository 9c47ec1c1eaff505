"""`chatcli bench` as it is typed: options, files, exit codes, clean stdout."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chatcli.bench.cases import CASES
from chatcli.cli.bench import CASE_NAMES
from chatcli.cli.main import run
from tests.bench.made import report
from tests.tiny_gguf import write_tiny


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def test_the_command_knows_every_case() -> None:
    """The names stand in the command too, so that help and completion load nothing."""
    assert list(CASE_NAMES) == list(CASES)


def test_a_report_goes_to_stdout_and_the_progress_to_stderr(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Markdown by default."""
    assert run(["bench", "help", "--pairs", "1"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("# chatcli bench\n")
    assert "| help |" in out
    assert "chatcli: help, 1/1" in err
    assert "\x1b" not in out


def test_a_report_is_written_compared_and_given_as_json(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`--json -o` makes what `--compare` reads."""
    old = tmp_path / "old.json"
    assert run(["bench", "help", "--pairs", "1", "--json", "-o", str(old)]) == 0
    assert capfd.readouterr().out == ""
    assert json.loads(old.read_text())["results"][0]["case"] == "help"
    assert run(["bench", "help", "--pairs", "1", "--compare", str(old)]) == 0
    assert "## Change since 20" in capfd.readouterr().out
    assert run(["bench", "help", "--pairs", "1", "--json", "--compare", str(old)]) == 0
    assert json.loads(capfd.readouterr().out)["changes"][0]["case"] == "help"


def test_a_model_can_be_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Its name in the report is the file's."""
    path = write_tiny(tmp_path / "tiny.gguf")
    assert (
        run(["bench", "decode", "-m", str(path), "--quick", "--pairs", "1", "--threads", "1"]) == 0
    )
    out = capfd.readouterr().out
    assert "| decode | tiny.gguf | depth 512 |" in out


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["decod"], 2, "there is no case 'decod'. Did you mean decode?"),
        (["help", "--pairs", "0"], 2, "--pairs must be at least 1"),
        (["help", "--compare", "missing.json"], 2, "cannot read missing.json"),
        (["cold", "-m", "missing.gguf", "--pairs", "1"], 1, "missing.gguf"),
        (["help", "--pairs", "1", "-o", "missing/folder/f"], 1, "cannot write missing/folder/f"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    args: list[str], code: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The exit code is the error's, and stdout stays empty."""
    assert run(["bench", *args]) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert said in err


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    """A long run is worth something when it is stopped: the report so far, and code 130."""
    path = write_tiny(tmp_path / "tiny.gguf")
    command = [sys.executable, "-m", "chatcli", "bench", "help", "raw", "-m", str(path)]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(
        [*command, "--pairs", "1000", "--threads", "1"],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "help, 2/1000" in line:
                child.send_signal(signal.SIGINT)
                break
        out, _ = child.communicate()
    assert child.returncode == 130
    assert out.startswith("# chatcli bench")


def test_a_file_that_is_no_report_is_refused_before_anything_is_measured(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A long run must not end in an error that could have been told at once."""
    (tmp_path / "bad.json").write_text("{}")
    assert run(["bench", "--compare", str(tmp_path / "bad.json")]) == 2
    assert "is not a report of chatcli bench" in capfd.readouterr().err


def test_the_change_is_printed_for_an_old_report_of_another_machine(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What was not measured now is left out."""
    from chatcli.bench.report import to_json

    (tmp_path / "old.json").write_text(to_json(report()))
    assert run(["bench", "help", "--pairs", "1", "--compare", str(tmp_path / "old.json")]) == 0
    change = capfd.readouterr().out.partition("## Change")[2]
    assert "| help |" in change
    assert "m:1b" not in change
