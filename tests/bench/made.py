"""A report with made-up numbers: every kind of result, on a machine that does not exist."""

from chatcli.bench.machine import Machine
from chatcli.bench.report import Report
from chatcli.bench.result import Bar, Result
from chatcli.bench.subject import Effort

MACHINE = Machine(
    chatcli="1.2.3",
    processor="Fast 9000",
    n_logical=8,
    n_cores=4,
    memory_bytes=16_000_000_000,
    system="Linux-6.1",
    python="3.11.7",
    library="llama-cpp-python 0.3.36",
    features="CPU : AVX2 = 1 | REPACK = 1 |",
    devices=("Vulkan0: a card",),
    openmp_spin="1000",
    load=0.25,
)


def report(*, speed: float = 1.0, date: str = "2026-01-02T03:04:05+00:00") -> Report:
    """Results of a whole run, some reached and one missed; `speed` multiplies the rates."""
    rates = tuple(rate * speed for rate in (98.0, 99.0, 97.0))
    results = (
        Result(case="help", what="whole run", unit="s", ours=(0.12, 0.13), bar=Bar("value", 0.15)),
        Result(case="cold", model="m:1b", what="to first byte", unit="s", ours=(0.5, 0.7, 0.6)),
        Result(
            case="memory",
            model="m:1b",
            what="resident, peak",
            unit="MB",
            ours=(200.0, 201.0, 202.0),
            against="raw",
            other=(100.0, 100.0, 100.0),
            bar=Bar("difference", 80.0),
        ),
        Result(
            case="warm",
            model="m:1b",
            what="to first token",
            unit="s",
            ours=(0.021, 0.022, 0.023),
            against="raw",
            other=(0.02, 0.02, 0.02),
            facts=(("evaluated", 12), ("reused", 99)),
        ),
        Result(
            case="decode",
            model="m:1b",
            what="depth 2,000",
            unit="tokens/s",
            ours=rates,
            against="raw",
            other=(100.0, 100.0, 100.0),
            bar=Bar("ratio", 0.97),
            facts=(("tokens", 128),),
        ),
    )
    return Report(MACHINE, Effort(pairs=3), date, results)
