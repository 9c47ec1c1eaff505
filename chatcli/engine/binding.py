"""The handles of llama.cpp: the one module that imports `llama_cpp` and owns ctypes objects.

Knows the C API, its structs and who frees what. Does not know chats, templates, settings or
the KV store. Nothing here is thread-safe: one thread at a time uses a model's context.
"""

import ctypes
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from chatcli.core.errors import LoadError

if TYPE_CHECKING:
    import llama_cpp.llama_cpp  # noqa: F401  # what `library` loads; import-linter must see it

SPIN_ROUNDS = "1000"
"""Rounds that an idle OpenMP thread spins before it sleeps (DECISIONS.md has the figures)."""

_NEEDED = (
    "llama_decode",
    "llama_tokenize",
    "llama_token_to_piece",
    "llama_model_load_from_file",
    "llama_init_from_model",
    "llama_memory_seq_rm",
    "llama_memory_seq_cp",
    "llama_state_seq_get_data_ext",
    "llama_state_seq_set_data_ext",
    "llama_state_seq_get_size_ext",
    "llama_sampler_chain_init",
    "llama_sampler_sample",
    "llama_set_abort_callback",
    "llama_get_logits_ith",
    "llama_log_set",
    "llama_model_chat_template",
    "llama_model_meta_val_str",
    "llama_print_system_info",
)


@cache
def library() -> ModuleType:
    """Load `llama_cpp.llama_cpp` without the package's own `__init__`.

    The package imports its whole high-level API, numpy, jinja2 and diskcache (180-330 ms);
    the C bindings alone take 40-50 ms. An empty package module with the right path stands
    in for it, so that its submodule can be imported by its full name.

    Raises:
        LoadError: the package is missing, broken, or too old for a name that is needed.
    """
    try:
        module = _import_bindings()
    except (ImportError, OSError, RuntimeError) as error:
        raise LoadError(
            f"llama.cpp cannot be loaded: {error}",
            "Run `make chat` again, or reinstall: pip install --force-reinstall llama-cpp-python",
        ) from error
    if missing := [name for name in _NEEDED if not hasattr(module, name)]:
        raise LoadError(
            f"llama-cpp-python lacks {', '.join(missing)}",
            "chatcli needs llama-cpp-python >= 0.3.36: pip install -U llama-cpp-python",
        )
    return module


def _import_bindings() -> ModuleType:
    # OpenMP's threads wait for each other by spinning. Where another process has one of the
    # cores, the default 300,000 rounds make a token up to ten times slower than giving way.
    os.environ.setdefault("GOMP_SPINCOUNT", SPIN_ROUNDS)
    if "llama_cpp" not in sys.modules:
        spec = importlib.util.find_spec("llama_cpp")
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError("llama-cpp-python is not installed")
        package = ModuleType("llama_cpp")
        package.__path__ = list(spec.submodule_search_locations)
        package.__spec__ = importlib.machinery.ModuleSpec("llama_cpp", None, is_package=True)
        package.__spec__.submodule_search_locations = package.__path__
        sys.modules["llama_cpp"] = package
    return importlib.import_module("llama_cpp.llama_cpp")


def library_files() -> list[Path]:
    """Return the shared libraries in use (libllama and the ggml libraries beside it)."""
    folder = Path(library()._lib._name).parent  # noqa: SLF001  # the only way to the path
    return sorted(p for p in folder.iterdir() if p.is_file() and p.name.startswith(("lib", "ggml")))


# -- log -----------------------------------------------------------------------------

_log_callback: Any = None  # a collected callback crashes the process: kept for its lifetime


def set_log(write: Callable[[int, str], None]) -> None:
    """Send llama.cpp's own log, level and text, to `write` instead of stderr.

    Levels are ggml's: 1 debug, 2 info, 3 warning, 4 error, 5 continues the line before.
    """
    global _log_callback  # noqa: PLW0603
    lib = library()

    def receive(level: int, text: bytes, _user_data: object) -> None:
        write(level, text.decode(errors="replace"))

    callback = lib.llama_log_callback(receive)
    lib.llama_log_set(callback, ctypes.c_void_p(0))
    _log_callback = callback


@cache
def start_backend() -> None:
    """Initialise llama.cpp, once for the process."""
    library().llama_backend_init()


# -- devices -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Device:
    """A ggml device; memory in bytes. `kind` is "cpu", "gpu", "igpu" or "accel"."""

    name: str
    description: str
    kind: str
    free_bytes: int
    total_bytes: int


_KINDS = ("cpu", "gpu", "igpu", "accel")  # enum ggml_backend_dev_type, ggml-backend.h


def devices() -> list[Device]:
    """Return the devices that this build of the library can use, in its order."""
    start_backend()
    c = library()._lib  # noqa: SLF001  # ggml's symbols are reached through libllama's handle
    c.ggml_backend_dev_count.restype = ctypes.c_size_t
    c.ggml_backend_dev_get.restype = ctypes.c_void_p
    c.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    for function in (c.ggml_backend_dev_name, c.ggml_backend_dev_description):
        function.restype = ctypes.c_char_p
        function.argtypes = [ctypes.c_void_p]
    c.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
    size_p = ctypes.POINTER(ctypes.c_size_t)
    c.ggml_backend_dev_memory.argtypes = [ctypes.c_void_p, size_p, size_p]
    found = []
    for index in range(c.ggml_backend_dev_count()):
        device = c.ggml_backend_dev_get(index)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        c.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
        number = c.ggml_backend_dev_type(device)
        found.append(
            Device(
                c.ggml_backend_dev_name(device).decode(errors="replace"),
                c.ggml_backend_dev_description(device).decode(errors="replace"),
                _KINDS[number] if number < len(_KINDS) else "accel",
                free.value,
                total.value,
            )
        )
    return found


def system_info() -> str:
    """Return the CPU features and backends that the library was built with, as it says them."""
    text: bytes = library().llama_print_system_info()
    return text.decode(errors="replace")


def can_offload() -> bool:
    """Say whether this build can put layers on a GPU."""
    return bool(library().llama_supports_gpu_offload())


# -- model ---------------------------------------------------------------------------


class Model:
    """A loaded model and its vocabulary; freed by `close`."""

    def __init__(
        self,
        path: Path,
        *,
        gpu_layers: int = 0,
        use_extra_bufts: bool = True,
        vocab_only: bool = False,
        progress: Callable[[float], bool] | None = None,
    ) -> None:
        """Load `path`. `progress` gets 0..1 and returns False to give up.

        Raises:
            LoadError: llama.cpp refused the file, or memory ran out.
        """
        lib = self._lib = library()
        start_backend()
        params = lib.llama_model_default_params()
        params.n_gpu_layers = gpu_layers
        params.use_extra_bufts = use_extra_bufts
        params.vocab_only = vocab_only
        if progress is not None:
            self._progress = lib.llama_progress_callback(lambda value, _: progress(value))
            params.progress_callback = self._progress
        self.handle = lib.llama_model_load_from_file(os.fsencode(path), params)
        if not self.handle:
            raise LoadError(f"llama.cpp could not load {path.name}")
        self.vocab = lib.llama_model_get_vocab(self.handle)
        self.n_vocab: int = lib.llama_vocab_n_tokens(self.vocab)
        self._pieces: dict[int, bytes] = {}
        self._buffer = ctypes.create_string_buffer(512)

    def close(self) -> None:
        """Free the model; its contexts must be closed before."""
        if self.handle:
            self._lib.llama_model_free(self.handle)
            self.handle = None

    def meta(self, key: str) -> str | None:
        """Return a GGUF metadata value as text, None if it has none."""
        size = 1 << 16
        buffer = ctypes.create_string_buffer(size)
        n = self._lib.llama_model_meta_val_str(self.handle, key.encode(), buffer, size)
        return buffer.value.decode(errors="replace") if n >= 0 else None

    def chat_template(self, name: str | None = None) -> str | None:
        """Return the GGUF's Jinja chat template (of any length), None if it has none."""
        text = self._lib.llama_model_chat_template(self.handle, name.encode() if name else None)
        return text.decode(errors="replace") if text else None

    @property
    def description(self) -> str:
        """Architecture, size and quantisation, as llama.cpp words it."""
        buffer = ctypes.create_string_buffer(256)
        self._lib.llama_model_desc(self.handle, buffer, 256)
        return buffer.value.decode(errors="replace")

    @property
    def n_ctx_train(self) -> int:
        """Longest context that the model was trained for, in tokens."""
        return int(self._lib.llama_model_n_ctx_train(self.handle))

    @property
    def n_swa(self) -> int:
        """Sliding window in tokens, 0 without one."""
        return int(self._lib.llama_model_n_swa(self.handle))

    @property
    def n_bytes(self) -> int:
        """Size of the weights."""
        return int(self._lib.llama_model_size(self.handle))

    @property
    def recurrent(self) -> bool:
        """Whether the memory cannot be cut at any position (recurrent and hybrid models)."""
        lib = self._lib
        return bool(
            lib.llama_model_is_recurrent(self.handle) or lib.llama_model_is_hybrid(self.handle)
        )

    @property
    def hybrid(self) -> bool:
        """Whether attention layers and recurrent ones stand side by side."""
        return bool(self._lib.llama_model_is_hybrid(self.handle))

    @property
    def generates(self) -> bool:
        """Whether this is a decoder (an embedding model or an encoder is not)."""
        lib = self._lib
        causal = self.meta(f"{self.meta('general.architecture')}.attention.causal")
        return (
            bool(lib.llama_model_has_decoder(self.handle))
            and not lib.llama_model_has_encoder(self.handle)
            and not lib.llama_model_is_diffusion(self.handle)
            and causal != "false"
        )

    # -- vocabulary ------------------------------------------------------------------

    @property
    def tokenize_address(self) -> int:
        """The address of `llama_tokenize`, for libraries that call it themselves."""
        return ctypes.cast(self._lib.llama_tokenize, ctypes.c_void_p).value or 0

    @property
    def eog_tokens(self) -> list[int]:
        """All ids that end a generation (a look at the whole vocabulary)."""
        return [token for token in range(self.n_vocab) if self.is_eog(token)]

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Return the ids of `text`; `special` reads control tokens in it as such. No BOS."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        while True:
            ids = (ctypes.c_int32 * room)()
            n = self._lib.llama_tokenize(self.vocab, data, len(data), ids, room, False, special)
            if n >= 0:
                return list(ids[:n])
            room = -n

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token; control tokens are spelled out."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._piece(token)
        return known

    def _piece(self, token: int) -> bytes:
        buffer = self._buffer
        n = self._lib.llama_token_to_piece(self.vocab, token, buffer, len(buffer), 0, True)
        if n < 0:
            buffer = ctypes.create_string_buffer(-n)
            n = self._lib.llama_token_to_piece(self.vocab, token, buffer, -n, 0, True)
        return buffer.raw[:n]

    def is_control(self, token: int) -> bool:
        """Whether the token is a control token, not text."""
        return bool(self._lib.llama_vocab_is_control(self.vocab, token))

    def is_eog(self, token: int) -> bool:
        """Whether the token ends a generation."""
        return bool(self._lib.llama_vocab_is_eog(self.vocab, token))

    @property
    def bos(self) -> int | None:
        """The id that begins a text, None if the vocabulary has none."""
        token = int(self._lib.llama_vocab_bos(self.vocab))
        return token if token >= 0 else None

    @property
    def eos(self) -> int | None:
        """The id that ends a text, None if the vocabulary has none."""
        token = int(self._lib.llama_vocab_eos(self.vocab))
        return token if token >= 0 else None

    @property
    def add_bos(self) -> bool:
        """Whether the vocabulary wants every text to begin with BOS."""
        return bool(self._lib.llama_vocab_get_add_bos(self.vocab))

    @property
    def spm_space(self) -> bool:
        """Whether the vocabulary puts a space before a text (SentencePiece)."""
        ids = self.tokenize("a", special=False)
        return bool(ids) and self.piece(ids[0]).startswith(b" ")
