"""The entry: which command is meant, and how an error becomes a line and an exit code.

Three floors: `main` (the process), `run` (every error to a line and a code), `dispatch`
(what was meant). Nothing heavy is imported here: `chatcli --help` must be instant.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatcli.app import App
    from chatcli.settings import Settings

COMMANDS = {
    "chat": ("chat", "Chat in the terminal; without a terminal each line is a message."),
    "run": ("chat", "The same as chat -m MODEL, or ask -m MODEL with a question."),
    "ask": ("ask", "Ask one question; stdin, if piped, goes before it."),
    "pull": ("models", "Download a model."),
    "list": ("models", "List models."),
    "ls": ("models", "The same as list."),
    "show": ("models", "Show what a model is."),
    "rm": ("models", "Remove a downloaded model."),
    "sessions": ("sessions", "List, search, show, export, import and remove sessions."),
    "config": ("config", "Show and change settings."),
    "doctor": ("doctor", "Check library, devices, paths and models."),
    "bench": ("bench", "Measure this machine: cold start, prefill, decode."),
}
"""Each command: the module in `chatcli.cli` that has it, and its line in the help."""

_HELP = """Talk to a local model: a chat in the terminal, an answer in a pipe.

\b
  chatcli                         chat
  chatcli "question"              one answer
  cmd | chatcli "instruction"     stdin goes before the instruction
  chatcli -c "and then?"          go on with the latest session
"""


def main() -> None:
    """Run the program and leave with its exit code."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _hush()
    except (OSError, ValueError):
        code = code or 1
    sys.exit(code)


def run(argv: Sequence[str], app_factory: "Callable[[Settings], App] | None" = None) -> int:
    """Run one command line; return the exit code. Errors become one line on stderr."""
    args = list(argv)
    debug = os.environ.get("CHATCLI_DEBUG", "") not in ("", "0")
    if "--debug" in _before_dashes(args):
        args.remove("--debug")
        debug = True
    if app_factory is not None:
        from chatcli.cli import open as opening

        opening.factory = app_factory
    try:
        return dispatch(args)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _hush()
        return 0
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
    except Exception as error:  # noqa: BLE001  # the one place: an error becomes a line and a code
        return _told(error, debug=debug)


def _before_dashes(args: Sequence[str]) -> Sequence[str]:
    return args[: args.index("--")] if "--" in args else args


def _told(error: Exception, *, debug: bool) -> int:
    """Say what went wrong in one line; return the exit code."""
    from chatcli.core.errors import ChatcliError

    if debug:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, ChatcliError):
        text, code = str(error), error.exit_code
    elif hasattr(error, "format_message"):  # typer's own: a wrong option or argument
        text, code = f"{error.format_message()} See chatcli --help", getattr(error, "exit_code", 2)
    elif isinstance(error, RuntimeError) and type(error).__name__ == "Abort":
        text, code = "given up", 1
    else:
        text, code = _unexpected(error), 1
    from chatcli.core.printable import visible_line

    sys.stderr.write(f"chatcli: {visible_line(text)}\n")
    return code


def _unexpected(error: Exception) -> str:
    """Keep the traceback of an error that is our fault, and say where."""
    import traceback

    from chatcli.log import logs_dir, open_log

    text = "".join(traceback.format_exception(error))
    open_log("errors").error("%s", text)
    where = logs_dir() / "errors.log"
    kind = type(error).__name__
    return f"unexpected {kind}: {error}. This is a bug; the traceback is in {where} (--debug)"


def _hush() -> None:
    """Make the interpreter's last flush of a closed pipe silent."""
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123  # a descriptor is what is needed
        os.dup2(nothing.fileno(), sys.stdout.fileno())


# -- which command -----------------------------------------------------------------------


def dispatch(args: list[str]) -> int:
    """Find out what is meant and run it."""
    if "_CHATCLI_COMPLETE" in os.environ:
        return _typer(args, COMMANDS)
    args = _paired(args)
    head, name, rest = _split(args)
    if name is not None:
        return _typer([name, *head, *rest], [name])
    early = set(_before_dashes(args))
    if early & {"--version", "-V"}:
        return _version()
    if early & {"--help", "-h"}:
        return _typer(["--help"], ())
    completion = early & {"--install-completion", "--show-completion"}
    if completion:
        return _typer(args, COMMANDS)
    return _talk(head, rest)


def _talk(head: list[str], rest: list[str]) -> int:
    """Ask where there are words or a pipe; chat where somebody sits at a terminal."""
    if not rest and _interactive():
        return _typer(["chat", *head], ["chat"])
    return _typer(["ask", *head, "--", *rest] if rest else ["ask", *head], ["ask"])


def _interactive() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def _paired(args: list[str]) -> list[str]:
    """Write `-o KEY VALUE`, llm's form, as `-o KEY=VALUE`, which typer can repeat."""
    paired: list[str] = []
    at = 0
    while at < len(args):
        if args[at] == "--":
            return paired + args[at:]
        paired.append(args[at])
        if args[at] in ("-o", "--option") and at + 2 < len(args) and "=" not in args[at + 1]:
            paired.append(f"{args[at + 1]}={args[at + 2]}")
            at += 2
        at += 1
    return paired


def _split(args: list[str]) -> tuple[list[str], str | None, list[str]]:
    """Cut a command line: options before the first word, the command, the rest.

    Without a command the words are a question: options may stand anywhere among them, and
    everything behind `--` is words.
    """
    if args and args[0] in COMMANDS:
        return [], args[0], args[1:]
    if not args or (len(args) == 1 and args[0] in ("--help", "-h", "--version", "-V")):
        return args, None, []
    from chatcli.cli.ask import Asked
    from chatcli.cli.options import value_options

    takes = value_options(Asked)
    head: list[str] = []
    words: list[str] = []
    at = 0
    while at < len(args):
        arg = args[at]
        if arg == "--":
            words += args[at + 1 :]
            break
        if arg.startswith("-") and arg != "-":
            end = at + 1 + _values(arg, takes)
            head += args[at:end]
            at = end
            continue
        if not words and arg in COMMANDS:
            return head, arg, args[at + 1 :]
        words.append(arg)
        at += 1
    return head, None, words


def _values(arg: str, takes: "dict[str, int] | object") -> int:
    """Return how many words behind the option `arg` belong to it."""
    table: dict[str, int] = takes if isinstance(takes, dict) else {}
    if arg in table:
        return table[arg]
    if arg.startswith("--"):
        return 0  # a flag, unknown, or --name=value
    # Short flags may be joined: the first that takes a value takes the rest, or the next word.
    for i, letter in enumerate(arg[1:], 1):
        if f"-{letter}" in table:
            return table[f"-{letter}"] if i == len(arg) - 1 else table[f"-{letter}"] - 1
    return 0


def _typer(args: list[str], names: "Sequence[str] | dict[str, tuple[str, str]]") -> int:
    """Run the command tree, with only the modules of `names` loaded."""
    os.environ.setdefault("TYPER_USE_RICH", "0")
    import typer

    app = typer.Typer(
        name="chatcli",
        help=_HELP,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        add_completion=len(names) == len(COMMANDS),
    )
    app.callback()(_root)
    for module in dict.fromkeys(COMMANDS[name][0] for name in names):
        import_module(f"chatcli.cli.{module}").register(app)
    if not names:
        for name, (_, text) in COMMANDS.items():
            app.command(name, help=text)(_root)
    result = app(args, prog_name="chatcli", standalone_mode=False)
    return result if isinstance(result, int) else 0


def _root() -> None:
    """Hold the options of the tree itself: none."""


def _version() -> int:
    from importlib.metadata import PackageNotFoundError, version

    from chatcli import __version__

    try:
        library = version("llama-cpp-python")
    except PackageNotFoundError:
        library = "missing"
    python = ".".join(map(str, sys.version_info[:3]))
    sys.stdout.write(f"chatcli {__version__} (llama-cpp-python {library}, Python {python})\n")
    return 0
