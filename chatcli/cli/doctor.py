"""`chatcli doctor`: can this machine chat, how well, and what to do about it."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import typer

from chatcli.core.errors import ChatcliError
from chatcli.core.printable import visible, visible_line

State = Literal["ok", "warning", "failed"]
LOW_DISK_BYTES = 2 << 30
"""Below this a model of a useful size can hardly be fetched."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, and what to do about it. `needed`: without it no chat works."""

    name: str
    state: State
    detail: str
    remedy: str = ""
    needed: bool = False


Check = Callable[[], Iterator[Finding]]


def register(app: typer.Typer) -> None:
    """Add `doctor` to the tree."""
    app.command("doctor")(doctor)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Run the self-test again, even if it is known.")
    ] = False,
) -> int:
    """Check library, devices, paths, settings and models; exit 1 if chat cannot work."""
    findings: list[Finding] = []
    for finding in examine(again=again):
        findings.append(finding)
        if not as_json:
            typer.echo(line(finding))
    healthy = not any(f.needed and f.state == "failed" for f in findings)
    if as_json:
        rows = [asdict(finding) for finding in findings]
        typer.echo(json.dumps({"works": healthy, "findings": rows}, ensure_ascii=False, indent=2))
    else:
        typer.echo("chat works here" if healthy else "chat cannot work here yet: see above")
    return 0 if healthy else 1


def line(finding: Finding) -> str:
    """Return a finding as one line, and a second with the remedy."""
    text = f"{finding.state:<8} {finding.name:<10} {visible_line(finding.detail)}"
    if finding.remedy:
        text += f"\n{'':<20}-> {visible(finding.remedy)}"
    return text


def examine(*, again: bool = False) -> Iterator[Finding]:
    """Run all checks, in the order in which chat would need them."""
    checks: tuple[Check, ...] = (
        _program,
        _settings,
        _folders,
        _disk,
        _library,
        _devices,
        _models,
        lambda: _self_test(again=again),
        _sessions,
    )
    for check in checks:
        try:
            yield from check()
        except ChatcliError as error:
            name = getattr(check, "__name__", "_self_test").strip("_")
            yield Finding(name, "failed", error.message, error.hint, needed=name != "sessions")


def _program() -> Iterator[Finding]:
    from chatcli import __version__

    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("chatcli", "ok", f"{__version__}, Python {python} on {sys.platform}")
    encoding = (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "")
    if encoding != "utf8":
        remedy = "Set LANG=C.UTF-8 or PYTHONUTF8=1, or answers lose characters"
        yield Finding("encoding", "warning", f"stdout is {encoding or 'unknown'}", remedy)


def _settings() -> Iterator[Finding]:
    from chatcli import paths
    from chatcli.cli.current import working_folder
    from chatcli.settings import load_settings

    loaded = load_settings(flags={}, environ=os.environ, cwd=working_folder())
    file = paths.user_config_file()
    where = str(file) if file.exists() else "defaults (no settings file)"
    model = loaded.settings.model or "the one installed last"
    yield Finding("settings", "ok", f"{where}; model: {model}", needed=True)


def _folders() -> Iterator[Finding]:
    from chatcli import paths

    for name, folder, needed in (
        ("config", paths.config_dir(), False),
        ("data", paths.data_dir(), True),
        ("cache", paths.cache_dir(), False),
        ("state", paths.state_dir(), False),
    ):
        place = next(p for p in (folder, *folder.parents) if p.exists())
        if os.access(place, os.W_OK | os.X_OK):
            yield Finding(name, "ok", str(folder), needed=needed)
        else:
            remedy = f"Make it writable, or set XDG_{name.upper()}_HOME; or chat with --no-log"
            yield Finding(name, "failed", f"{folder} cannot be written", remedy, needed=needed)


def _disk() -> Iterator[Finding]:
    from chatcli import paths
    from chatcli.catalogue.progress import readable_bytes

    folder = paths.models_dir()
    place = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(place).free
    detail = f"{readable_bytes(free)} free for models"
    if free < LOW_DISK_BYTES:
        yield Finding("disk", "warning", detail, "Free space, or set XDG_DATA_HOME to another disk")
    else:
        yield Finding("disk", "ok", detail)


def _library() -> Iterator[Finding]:
    from importlib.metadata import version

    from chatcli.engine import binding

    binding.set_log(lambda _level, _text: None)
    binding.library()
    folder = binding.library_files()[0].parent
    yield Finding("library", "ok", f"llama-cpp-python {version('llama-cpp-python')}", needed=True)
    yield Finding("files", "ok", str(folder))
    yield Finding("features", "ok", cpu_features(binding.system_info()))


def cpu_features(info: str) -> str:
    """Return the features that llama.cpp says it uses, from its ``NAME = 1 | ...`` form."""
    words = [word.strip() for part in info.split("|") for word in part.split(" : ")]
    used = [word.split("=")[0].strip() for word in words if word.endswith("= 1")]
    return " ".join(used) or "none"


def _devices() -> Iterator[Finding]:
    from chatcli.catalogue.progress import readable_bytes
    from chatcli.engine import binding
    from chatcli.engine.load import default_threads, free_memory

    for device in binding.devices():
        if device.kind == "cpu":
            continue
        detail = f"{device.description}: {readable_bytes(device.free_bytes)} free"
        yield Finding(device.name, "ok", detail)
    if not binding.can_offload():
        yield Finding("gpu", "ok", "none in this build", "With a GPU: make chat GPU=cuda|vulkan")
    free = free_memory()
    memory = f"{readable_bytes(free)} memory free, " if free is not None else ""
    yield Finding("cpu", "ok", f"{memory}{default_threads()} threads used")


def _models() -> Iterator[Finding]:
    from chatcli.catalogue.index import read_index
    from chatcli.catalogue.local import local_files
    from chatcli.catalogue.progress import readable_bytes

    index = read_index()
    for model in index.values():
        size = readable_bytes(model.n_bytes)
        if all(part.is_file() for part in model.parts):
            yield Finding("model", "ok", f"{model.name}, {size}")
        else:
            remedy = f"chatcli pull {model.name}"
            yield Finding("model", "warning", f"{model.name}: its file is gone", remedy)
    if not index:
        yield Finding("model", "warning", "none is installed", "chatcli pull smollm2:135m")
    if others := len(local_files()):
        yield Finding("others", "ok", f"{others} GGUF files of other tools (chatcli list --all)")


def _self_test(*, again: bool) -> Iterator[Finding]:
    from chatcli.catalogue.index import read_index
    from chatcli.engine import probe

    model = next((m for m in read_index().values() if m.path.is_file()), None)
    if model is None:
        yield Finding("self-test", "warning", "not run: it needs a model", "chatcli pull")
        return
    outcome = probe.check(model.path, again=again)
    match outcome.state:
        case "ok":
            yield Finding("self-test", "ok", f"evaluates {model.name}", needed=True)
        case "fallback":
            detail = f"{outcome.detail} with repacked weights; works without, slower"
            yield Finding("self-test", "warning", detail, probe.REMEDY, needed=True)
        case "dead":
            detail = f"evaluating ends with {outcome.detail}"
            yield Finding("self-test", "failed", detail, probe.REMEDY, needed=True)


def _sessions() -> Iterator[Finding]:
    from chatcli import paths
    from chatcli.sessions.sqlite import SqliteStore

    file = paths.sessions_file()
    if not file.exists():
        yield Finding("sessions", "ok", f"none yet ({file})")
        return
    store = SqliteStore(file)
    try:
        chats, asks = len(store.sessions(kinds=("chat",))), len(store.sessions(kinds=("ask",)))
    finally:
        store.close()
    yield Finding("sessions", "ok", f"{chats} chats, {asks} one-shots in {file}")
