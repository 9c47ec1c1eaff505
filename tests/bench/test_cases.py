"""Each case on a tiny real model: it runs, and says what it measured. No time is judged."""

from pathlib import Path

import pytest

from chatcli.bench.cases import CASES, ModelFile, chosen, run
from chatcli.bench.result import Result
from chatcli.bench.subject import Effort
from chatcli.core.errors import UsageError
from chatcli.settings import EngineSettings, Settings

ONE_THREAD = Settings(engine=EngineSettings(threads=1))
TINY = Effort(pairs=1, n_prefill=64, n_decode=8, depths=(0, 100))


def measured(name: str, path: Path, said: list[str], effort: Effort = TINY) -> list[Result]:
    """Run one case."""
    return list(run([name], [ModelFile("tiny", path)], ONE_THREAD, effort, said.append))


@pytest.mark.parametrize("name", ["prefill", "decode"])
def test_the_engine_is_measured_beside_the_bare_loop_at_each_depth(
    name: str, tiny_path: Path
) -> None:
    """Pairs, a ratio and a bar for each depth."""
    found = measured(name, tiny_path, [])
    assert [(one.case, one.what) for one in found] == [(name, "depth 0"), (name, "depth 100")]
    for one in found:
        assert one.model == "tiny"
        assert len(one.ours) == len(one.other) == 1
        assert min(*one.ours, *one.other) > 0
        assert one.bar is not None
        assert one.bar.judged == "ratio"
        assert dict(one.facts)["tokens"] >= 8


def test_the_bare_loop_is_measured_alone(tiny_path: Path) -> None:
    """Prefill and decode, at each depth."""
    assert [one.what for one in measured("raw", tiny_path, [])] == [
        "prefill, depth 0",
        "decode, depth 0",
        "prefill, depth 100",
        "decode, depth 100",
    ]


def test_the_bare_loop_is_not_measured_twice(tiny_path: Path) -> None:
    """What it reached beside the engine is reported again under `raw`."""
    names = ["decode", "raw"]
    files = [ModelFile("tiny", tiny_path)]
    found = list(run(names, files, ONE_THREAD, TINY, lambda _: None))
    at = {(one.case, one.what): one for one in found}
    assert at["raw", "decode, depth 100"].ours == at["decode", "depth 100"].other


def test_a_warm_turn_evaluates_only_what_is_new(tiny_path: Path) -> None:
    """The counts are in the result, so that a silent recompute is visible."""
    (found,) = measured("warm", tiny_path, [])
    facts = dict(found.facts)
    assert 0 < facts["evaluated"] < facts["reused"]
    assert found.other[0] > 0


def test_a_cold_answer_is_timed_in_a_process_of_its_own(tiny_path: Path) -> None:
    """And the progress says so."""
    said: list[str] = []
    (found,) = measured("cold", tiny_path, said)
    assert found.ours[0] > 0
    assert said == ["tiny: cold, warming up", "tiny: cold, 1/1"]


def test_memory_is_compared_between_two_processes(tiny_path: Path) -> None:
    """At the peak and at the end."""
    found = measured("memory", tiny_path, [])
    assert [one.what for one in found] == ["resident, peak", "resident, end"]
    for one in found:
        assert one.ours[0] > 10
        assert one.other[0] > 10


def test_help_needs_no_model() -> None:
    """It is timed once, whatever the models."""
    effort = Effort(pairs=1)
    (found,) = run(["help"], [], ONE_THREAD, effort, lambda _: None)
    assert (found.case, found.model) == ("help", "")
    assert found.bar is not None


def test_a_depth_that_the_context_has_no_room_for_is_left_out(tiny_path: Path) -> None:
    """And said: a table without it must not look complete."""
    said: list[str] = []
    effort = Effort(pairs=1, n_prefill=64, n_decode=8, depths=(0, 4000))
    found = measured("decode", tiny_path, said, effort)
    assert [one.what for one in found] == ["depth 0"]
    assert "tiny: no room for a depth of 4,000 in 4,096 tokens" in said


def test_cases_are_run_in_the_order_of_the_table() -> None:
    """Children first, whatever the order on the command line; all of them by default."""
    assert chosen(["raw", "cold"]) == ["cold", "raw"]
    assert chosen([]) == list(CASES)


def test_an_unknown_case_is_refused_with_the_nearest() -> None:
    """A slip of the fingers gets the right word."""
    with pytest.raises(UsageError, match=r"there is no case 'prefil'\. Did you mean prefill"):
        chosen(["prefil"])
    with pytest.raises(UsageError, match="Cases: help, cold, memory"):
        chosen(["xyz"])
