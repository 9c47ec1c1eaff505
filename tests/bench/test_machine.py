"""The facts of this machine."""

from pathlib import Path

from chatcli.bench.machine import processor, this_machine


def test_a_report_says_what_it_was_made_on() -> None:
    """Every fact that a figure depends on is there."""
    here = this_machine()
    assert here.n_cores >= 1
    assert here.n_logical >= here.n_cores
    assert here.memory_bytes > 100_000_000
    assert here.library.startswith("llama-cpp-python 0.")
    assert "CPU" in here.features
    assert all((here.processor, here.system, here.python, here.chatcli))


def test_the_processor_is_named_as_linux_names_it(tmp_path: Path) -> None:
    """Without that file the platform's word is taken."""
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nmodel name\t: Fast 9000 @ 3 GHz\nmodel name\t: other\n")
    assert processor(file) == "Fast 9000 @ 3 GHz"
    assert processor(tmp_path / "missing")
