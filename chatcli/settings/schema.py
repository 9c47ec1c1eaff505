"""The shape of the settings: every group, every key, its type and its default."""

from dataclasses import field
from typing import Literal

from chatcli.core.frozen import Frozen
from chatcli.core.sampling import Sampling


class ContextSettings(Frozen):
    """`size` in tokens; None: grows with the chat up to the limit. `overflow`: beyond it."""

    size: int | None = None
    overflow: Literal["error", "summarise", "drop-oldest"] = "error"


class ReplySettings(Frozen):
    """`max_tokens` None: fitted to the context. `stop_loops`: end a reply that repeats itself."""

    max_tokens: int | None = None
    stop_loops: bool = True


class EngineSettings(Frozen):
    """`threads` and `gpu_layers` None: found out. `gpu_layers` -1: all."""

    threads: int | None = None
    gpu_layers: int | None = None
    kv_type: Literal["f16", "q8_0"] = "f16"
    flash_attention: Literal["auto", "on", "off"] = "auto"
    batch: int = 512
    template: str | None = None


class KvSettings(Frozen):
    """What is kept of evaluated tokens. `budget_bytes` None: fitted to the free disk."""

    mode: Literal["off", "ram", "disk"] = "disk"
    budget_bytes: int | None = None


class TerminalSettings(Frozen):
    """How the REPL looks and feels."""

    markdown: bool = True
    color: Literal["auto", "always", "never"] = "auto"
    theme: Literal["auto", "dark", "light"] = "auto"
    editing: Literal["emacs", "vi"] = "emacs"
    editor: str | None = None
    reasoning: bool = True
    history: bool = True
    status_line: bool = True


class SessionSettings(Frozen):
    """`log` false: nothing is kept (incognito)."""

    log: bool = True


class LogSettings(Frozen):
    """`max_bytes` caps each log file under the state folder."""

    max_bytes: int = 5_000_000


class DownloadSettings(Frozen):
    """`offline` forbids every download; `hub` is the Hugging Face endpoint."""

    offline: bool = False
    hub: str = "https://huggingface.co"


class Settings(Frozen):
    """Everything that can be set, merged. `model` None: not chosen yet (first run)."""

    model: str | None = None
    system: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    context: ContextSettings = field(default_factory=ContextSettings)
    reply: ReplySettings = field(default_factory=ReplySettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    kv: KvSettings = field(default_factory=KvSettings)
    terminal: TerminalSettings = field(default_factory=TerminalSettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    logs: LogSettings = field(default_factory=LogSettings)
    download: DownloadSettings = field(default_factory=DownloadSettings)
