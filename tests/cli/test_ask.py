"""One question, one answer: every option of `ask`, against a scripted model."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.given import Program, own_home, pipe_in


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Live in an empty home with an empty stdin."""
    pipe_in(monkeypatch, b"")
    return own_home(tmp_path, monkeypatch)


def test_the_answer_is_kept_as_an_ask_named_by_its_words(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    """The title is the question, not the document that stands before it."""
    (home / "f.txt").write_text("long text", encoding="utf-8")
    program = Program([["yes"]])
    assert program.run("Is this long?", "-a", "f.txt") == 0
    assert capsys.readouterr() == ("yes\n", "")
    (session,) = program.store.sessions()
    assert (session.kind, session.title) == ("ask", "Is this long?")


def test_options_reach_the_model(home: Path) -> None:
    """Sampling, limits, stops, system prompt and model."""
    program = Program()
    code = program.run(
        *("hi", "-m", "big", "-s", "be brief", "-o", "top_k", "7", "--temp", "0.5"),
        *("--seed", "9", "--stop", "END", "--stop", "\n\n", "--max-tokens", "50"),
    )
    assert code == 0
    (prompt,) = program.engine.prompts
    sampling = prompt.sampling
    assert (sampling.top_k, sampling.temperature, sampling.seed) == (7, 0.5, 9)
    assert (prompt.system, prompt.stop, prompt.max_tokens) == ("be brief", ("END", "\n\n"), 50)
    assert program.engine.model == "big"


def test_continue_and_cid_find_their_session(capsys: pytest.CaptureFixture[str]) -> None:
    """-c the latest; --cid a prefix or a title; --fork copies and leaves the original alone."""
    program = Program([["one"], ["two"], ["three"], ["four"]])
    assert program.run("first question") == 0
    (first,) = program.store.sessions()
    assert program.run("second question") == 0
    assert program.run("-c", "more", "-s", "new rules") == 0
    assert [e.reply.text for e in program.engine.prompts[-1].history] == ["two"]
    assert program.engine.prompts[-1].system == "new rules"
    assert program.run("--cid", first.id[:6], "more", "--fork") == 0
    assert [e.reply.text for e in program.engine.prompts[-1].history] == ["one"]
    assert len(program.store.turns(first.id)) == 1
    assert program.run("--cid", "second question", "x") == 0
    assert len(program.engine.prompts[-1].history) == 2
    capsys.readouterr()
    assert program.run("--cid", "nothing like it", "x") == 1
    assert capsys.readouterr().err.startswith("chatcli: no session called")


def test_without_a_session_continue_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """And how to begin one."""
    assert Program().run("-c", "hi") == 1
    assert "no session to go on with. Begin one" in capsys.readouterr().err


def test_incognito_reads_a_kept_session_and_keeps_nothing() -> None:
    """-n with -c knows what was said, and adds nothing to it."""
    program = Program([["one"], ["two"]])
    assert program.run("a") == 0
    assert program.run("-n", "-c", "b") == 0
    assert [e.reply.text for e in program.engine.prompts[-1].history] == ["one"]
    (session,) = program.store.sessions()
    assert len(program.store.turns(session.id)) == 1
    assert program.kept == [True, False, True]


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Answer, reasoning, ids, model, route, usage and finish; stderr is empty."""
    program = Program([[("reasoning", "hm"), "é", "\n"]])
    assert program.run("hi", "--json") == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    (session,) = program.store.sessions()
    assert (found["answer"], found["reasoning"], found["finish"]) == ("é\n", "hm", "stop")
    assert (found["session"], found["turn"]) == (session.id, session.head)
    usage = found["usage"]
    assert usage["prompt"] == usage["reused_memory"] + usage["reused_disk"] + usage["evaluated"]
    assert (out.count("\n"), err) == (1, "")
    assert program.run("hi", "--json", "-n") == 0
    assert json.loads(capsys.readouterr().out)["session"] is None


def test_usage_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """stdout stays clean."""
    assert Program([["x"]]).run("hi", "-u") == 0
    out, err = capsys.readouterr()
    assert out == "x\n"
    assert re.fullmatch(r"scripted \| prompt \d+ new \+ 0 reused \| .*\n", err)


def test_code_blocks_are_extracted(capsys: pytest.CaptureFixture[str]) -> None:
    """-x the first, --xl the last, nothing else; without a block nothing at all, and code 1."""
    reply = ["Look:\n```sh\nls\n``", "`\nor\n```sh\npwd\n```\n"]
    assert Program([reply]).run("hi", "-x") == 0
    assert capsys.readouterr() == ("ls\n", "")
    assert Program([reply]).run("hi", "--xl") == 0
    assert capsys.readouterr().out == "pwd\n"
    assert Program([["no code"]]).run("hi", "-x") == 1
    out, err = capsys.readouterr()
    assert (out, "no code block" in err) == ("", True)


def test_an_answer_cut_by_a_limit_is_printed_with_code_4(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The part is shown, a remark stands on stderr; -q leaves the code alone."""
    assert Program([["a ", "b ", "c"]]).run("hi", "--max-tokens", "2") == 4
    out, err = capsys.readouterr()
    assert out == "a b \n"
    assert "cut at the token limit" in err
    assert Program([["a ", "b ", "c"]]).run("hi", "--max-tokens", "2", "-q") == 4
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("more", [[], ["--json"], ["--no-stream"]])
def test_a_constrained_answer_that_is_cut_prints_nothing(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Half a JSON value is worth nothing: stdout is empty, the code is 4."""
    program = Program([["{", '"a"', ":1}"]])
    assert program.run("hi", "--schema", '{"type": "object"}', "--max-tokens", "2", *more) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("chatcli: the answer was cut (length)")
    assert err.count("\n") == 1


def test_a_constrained_answer_is_printed_when_it_is_whole(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    """The schema and the grammar reach the model as their texts."""
    (home / "s.json").write_text('{"type": "object"}', encoding="utf-8")
    (home / "g.gbnf").write_text('root ::= "x"', encoding="utf-8")
    program = Program([["{", "}"], ["x"]])
    assert program.run("hi", "--schema", "s.json") == 0
    assert program.run("hi", "--grammar", "g.gbnf") == 0
    assert capsys.readouterr() == ("{}\nx\n", "")
    found = [prompt.constraint for prompt in program.engine.prompts]
    assert [(c.kind, c.text) for c in found if c] == [
        ("schema", '{"type": "object"}'),
        ("grammar", 'root ::= "x"'),
    ]


def test_an_input_over_the_context_says_by_how_much(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is dropped silently, nothing is printed, nothing is kept."""
    program = Program(context=20)
    assert program.run("word " * 30) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(r"the input takes \d+ tokens, \d+ more than the 20 that fit", err)
    assert program.store.sessions() == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["hi", "-x", "--xl"], "-x and --xl cannot go together"),
        (["hi", "-x", "--json"], "--json and -x"),
        (["hi", "-c", "--cid", "x"], "-c and --cid cannot go together"),
        (["hi", "--fork"], "--fork needs a session"),
        (["hi", "--schema", "{}", "--grammar", "g"], "--schema and --grammar"),
        (["hi", "-a", "missing.txt"], "cannot read missing.txt: No such file"),
        (["hi", "-a", "."], "is a folder"),
        (["hi", "-a", "bin"], "bin is binary, not text"),
        (["hi", "-o", "tmp", "1"], "Did you mean temp?"),
        (["hi", "-o", "temp", "hot"], "sampling.temperature wants a number"),
        (["hi", "--temp", "hot"], "sampling.temperature wants a number"),
        (["hi", "--modle", "x"], "there is no option --modle. Did you mean --model?"),
        (["-zzz"], "words that begin with a dash go behind --"),
        (["hi", "-o", "temp"], "option '-o' requires 2 arguments"),
        (["hi", "-m"], "option '-m' requires an argument"),
        ([], "there is nothing to ask"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_code_2(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    """What is wrong and what to do; the model is not asked."""
    (home / "bin").write_bytes(b"\x7fELF\0")
    program = Program()
    assert program.run(*argv) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("chatcli: ")
    assert said in err
    assert program.engine.prompts == []


def test_a_question_may_begin_with_a_commands_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Behind `ask`, behind `--`, or quoted with more words."""
    program = Program()
    for argv in (["ask", "list", "them"], ["--", "list", "them"], ["list them"]):
        assert program.run(*argv) == 0
        assert program.engine.prompts[-1].asked[0].text == "list them"
    capsys.readouterr()
    assert program.run("list", "the", "planets") == 2
    assert "If this is a question: chatcli ask" in capsys.readouterr().err
