"""Which keeper a model gets: by its memory type and the settings, or none, and why."""

import sys
from pathlib import Path

from chatcli.core.errors import StorageError
from chatcli.engine.binding import Model
from chatcli.engine.cells import Cells
from chatcli.engine.kv.index import Space
from chatcli.engine.kv.keep import Keeper
from chatcli.engine.kv.namespace import library_digest, namespace
from chatcli.engine.kv.store import open_disk, open_ram
from chatcli.settings import KvSettings


def open_keeper(
    cells: Cells, settings: KvSettings, *, path: Path, weights: str, on_gpu: bool
) -> tuple[Keeper | None, str]:
    """Return the keeper of a model's cells, None without one; and a notice, "" without one.

    `path` is the model's file, `weights` the identity of its content.
    """
    if settings.mode == "off":
        return None, ""
    model = cells.model
    if model.recurrent and (not model.hybrid or model.n_swa):
        return None, "State of this kind of model is not kept: resuming evaluates the chat anew"
    try:
        store = (open_disk if settings.mode == "disk" else open_ram)(
            budget_bytes=settings.budget_bytes
        )
    except StorageError as error:
        return None, f"State is not kept: {error.message}"
    options = cells.options
    most = long_from(model)
    is_long = options.fixed and options.limit > most
    space = Space(
        namespace=namespace(
            weights,
            kv_type=options.kv_type,
            flash_attention=options.flash_attention,
            on_gpu=on_gpu,
            is_long=is_long,
        ),
        library=library_digest(),
        model=model.description,
        path=str(path.absolute()),
    )
    return Keeper(store, cells, space, most_cells=sys.maxsize if is_long else most), ""


def long_from(model: Model) -> int:
    """Return the context size beyond which the model uses another set of RoPE factors.

    LongRoPE (Phi-3, Phi-4): `llama_model::get_rope_factors` chooses by the size of the
    context against the original one. YaRN and linear scaling do not.
    """
    arch = model.meta("general.architecture")
    original = model.meta(f"{arch}.rope.scaling.original_context_length")
    scaling = model.meta(f"{arch}.rope.scaling.type")
    if original is None or scaling in ("yarn", "linear", "none"):
        return sys.maxsize
    return int(original)
