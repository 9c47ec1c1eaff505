"""The entry: which command is meant, and how an error becomes a line and an exit code.

Three floors: `main` (the process), `run` (every error to a line and a code), `program` (what
was meant, run without error handling). Nothing heavy is imported here, not even typer: the
modules of a command are imported when it is used.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from chatcli.cli import exits
from chatcli.cli.dispatch import COMPLETION, VERSION, hint, meant

if TYPE_CHECKING:
    import typer

    from chatcli.app import App
    from chatcli.settings import Settings

AppFactory: TypeAlias = "Callable[[Settings], App] | None"
"""Makes the program's objects; None: the real ones."""

COMMANDS: Mapping[str, tuple[str, str]] = {
    "chat": ("chat", "Chat in the terminal; without a terminal each line of stdin is a message."),
    "run": ("chat", "Chat with MODEL; with a question, or a pipe, answer that and leave."),
    "ask": ("ask", "Ask one question; stdin, if piped, goes before it."),
    "pull": ("model", "Download models."),
    "list": ("model", "List the models on this machine."),
    "ls": ("model", ""),
    "show": (
        "model",
        "Show what is known of a model: its file, its size, its licence, its sources.",
    ),
    "rm": ("model", "Delete installed models."),
    "sessions": ("sessions", "List, search, show, export and delete what was said."),
    "kv": ("kv", "Look after the stored KV state: what was evaluated once is read back."),
    "config": ("config", "Show and change settings."),
    "doctor": (
        "doctor",
        "Check library, devices, paths, settings and models; exit 1 if chat cannot work.",
    ),
    "bench": ("bench", "Measure this machine: cold start, memory, prefill, decode."),
}
"""Each command: the module in `chatcli.cli` that registers it, and its line in the help.

The line is the first sentence of the command's own help; "" hides a second name.
"""

COMPLETE = "_CHATCLI_COMPLETE"
"""The environment variable by which a shell asks for completions."""

_SHELL_IS_NAMED = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"
"""typer's own switch between `--show-completion` and `--show-completion SHELL`."""

_HELP = """Talk to a local model: a chat in the terminal, an answer in a pipe.

\b
  chatcli                         chat
  chatcli "question"              one answer
  cmd | chatcli "instruction"     stdin goes before the instruction
  chatcli -c "and then?"          go on with the latest session

`chatcli ask --help` lists the options of a question, which work without `ask` as well.
Write `ask` or `--` before a question that begins with the name of a command.
Any command takes --debug, which shows the traceback of an error.
"""


def main(argv: Sequence[str] | None = None, *, app_factory: AppFactory = None) -> NoReturn:
    """Run the program and leave with its exit code. `argv` is without the program's name."""
    code = exits.INTERRUPTED
    try:
        with exits.unwinding():
            exits.all_streams()
            code = run(sys.argv[1:] if argv is None else argv, app_factory)
    except KeyboardInterrupt:
        pass
    except SystemExit as left:  # a signal, or a shell's completion
        code = left.code if isinstance(left.code, int) else exits.OK
    exits.leave(code)


def run(argv: Sequence[str], app_factory: AppFactory = None) -> int:
    """Run one command line; return the exit code. Errors become one line on stderr."""
    args = list(argv)
    debug = os.environ.get("CHATCLI_DEBUG", "") not in {"", "0"}
    if "--debug" in _before_dashes(args):
        args.remove("--debug")
        debug = True
    try:
        code = program(args, app_factory)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = exits.INTERRUPTED
    except BrokenPipeError:
        exits.hush(sys.stdout)
        code = exits.PIPE_CLOSED
    except Exception as error:  # noqa: BLE001  the one place: an error becomes a line and a code
        if isinstance(error, OSError):
            exits.hush(sys.stdout)  # it may be stdout that failed: the disk behind it is full
        command = next((arg for arg in args if arg in COMMANDS), "ask")
        code = exits.told(error, debug=debug, command=command)
    return code


def _before_dashes(args: Sequence[str]) -> Sequence[str]:
    return args[: args.index("--")] if "--" in args else args


def program(args: Sequence[str], app_factory: AppFactory = None) -> int:
    """Find out what is meant and run it; return its exit code."""
    if COMPLETE in os.environ:
        return _complete()
    said = meant(args, COMMANDS, sys.stdin.isatty)
    if said[0] in VERSION:
        return _version()
    if said[0] not in COMMANDS:
        if said[0].split("=")[0] not in COMPLETION:
            return _run(said, ())
        if len(said) > 1 or "=" in said[0]:
            os.environ[_SHELL_IS_NAMED] = "1"
        return _run(said, COMMANDS)
    if sys.stderr.isatty() and (remark := hint(args, COMMANDS)):
        exits.remark(remark)
    if app_factory is None:
        return _run(said, [said[0]])
    from chatcli.cli.open import made_by

    with made_by(app_factory):
        return _run(said, [said[0]])


def _run(args: list[str], names: Iterable[str]) -> int:
    """Run a command of the tree that has only the modules of `names` loaded."""
    import typer

    command = tree(names)
    try:
        with command.make_context("chatcli", args) as context:
            code = command.invoke(context)
    except typer.Exit as left:
        return left.exit_code
    return code if isinstance(code, int) else exits.OK


def _complete() -> int:
    from chatcli.cli.completion import name_ask

    name_ask(os.environ, COMMANDS)
    tree(COMMANDS).main([], prog_name="chatcli", complete_var=COMPLETE)
    return exits.OK


def tree(names: Iterable[str]) -> "typer.core.TyperGroup":
    """Return the command tree; commands that are not in `names` have their help line only."""
    import typer
    from typer.main import get_group

    from chatcli.cli.light import lighten

    names = list(names)
    app = typer.Typer(
        name="chatcli",
        help=_HELP,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        add_completion=False,
    )
    app.callback()(_root)
    for module in dict.fromkeys(COMMANDS[name][0] for name in names):
        import_module(f"chatcli.cli.{module}").register(app)
    if not names:
        for name, (_, text) in COMMANDS.items():
            app.command(name, help=text, hidden=not text)(_nothing)
    group = get_group(app)
    if not names or set(names) == set(COMMANDS):
        from typer.main import get_install_completion_arguments

        group.params += get_install_completion_arguments()
    lighten(group)
    return group


def _root() -> None:
    """Hold the options of the tree itself; those of every command are in the help above."""


def _nothing() -> None:
    """Stand in for a command in the list of commands."""


def _version() -> int:
    from importlib.metadata import PackageNotFoundError, version

    from chatcli import __version__

    try:
        library = version("llama-cpp-python")
    except PackageNotFoundError:
        library = "missing"
    python = ".".join(map(str, sys.version_info[:3]))
    sys.stdout.write(f"chatcli {__version__} (llama-cpp-python {library}, Python {python})\n")
    return exits.OK
