"""`chatcli kv`: the stored KV state of evaluated tokens, to look at, check and prune."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from chatcli.core.errors import UsageError
from chatcli.core.printable import visible_line

if TYPE_CHECKING:
    from chatcli.engine.kv.index import Tally
    from chatcli.engine.kv.store import Store

# The store is imported in the bodies: `chatcli --help` needs none of it.

AS_JSON = typer.Option("--json", help="Print JSON.")
_DAYS = 14


def register(app: typer.Typer) -> None:
    """Add the `kv` commands to the tree."""
    kv = typer.Typer(
        help="Look after the stored KV state: what was evaluated once is read back.",
        no_args_is_help=True,
    )
    kv.command("stats")(stats)
    kv.command("verify")(verify)
    kv.command("prune")(prune)
    kv.command("path")(path)
    app.add_typer(kv, name="kv")


def _open() -> "Store":
    from chatcli.cli.current import current_settings
    from chatcli.engine.kv.store import open_disk

    return open_disk(budget_bytes=current_settings({}).kv.budget_bytes)


def stats(as_json: Annotated[bool, AS_JSON] = False) -> None:
    """Say what is stored, for which models, and what it has saved."""
    from dataclasses import asdict

    store = _open()
    try:
        per_space, days = store.index.per_space(), store.index.days()
        named = {space.namespace: space for space in store.index.spaces()}
        dead = set(store.dead())
    finally:
        store.close()
    models = [
        {
            "namespace": name.hex()[:16],
            "model": named[name].model if name in named else "",
            "blocks": n,
            "tokens": tokens,
            "bytes": n_bytes,
            "usable": name not in dead,
        }
        for name, (n, tokens, n_bytes) in per_space.items()
    ]
    total = _sum(list(days.values()))
    if as_json:
        whole = {
            "bytes": sum(n for _, _, n in per_space.values()),
            "budget_bytes": store.budget_bytes,
            "models": models,
            "total": asdict(total),
            "days": {day: asdict(tally) for day, tally in days.items()},
        }
        typer.echo(json.dumps(whole))
        return
    _print(store.budget_bytes, models, total, days)


def _sum(tallies: "list[Tally]") -> "Tally":
    from dataclasses import asdict

    from chatcli.engine.kv.index import Tally

    rows = [asdict(tally) for tally in tallies]
    return Tally(**{name: sum(row[name] for row in rows) for name in asdict(Tally())})


def _print(
    budget: int, models: list[dict[str, object]], total: "Tally", days: "dict[str, Tally]"
) -> None:
    n_blocks = sum(int(str(model["blocks"])) for model in models)
    n_bytes = sum(int(str(model["bytes"])) for model in models)
    typer.echo(f"{n_blocks:,} blocks, {_size(n_bytes)} of at most {_size(budget)}")
    for model in models:
        name = visible_line(str(model["model"])) or "unknown model"
        unusable = "" if model["usable"] else ", unusable: `chatcli kv prune` deletes it"
        typer.echo(
            f"  {model['namespace']}  {name}: {model['blocks']:,} blocks,"
            f" {model['tokens']:,} tokens, {_size(int(str(model['bytes'])))}{unusable}"
        )
    prompt = total.memory + total.disk + total.evaluated
    if not prompt:
        return
    typer.echo(
        f"{total.turns:,} turns: {total.disk:,} tokens read from here"
        f" ({total.disk / prompt:.0%} of all prompt tokens), {total.memory:,} found in memory,"
        f" {total.evaluated:,} evaluated; about {total.saved_s:,.0f} s saved"
    )
    for day, tally in list(days.items())[-_DAYS:]:
        typer.echo(
            f"  {day}  read {_size(tally.read_bytes)}, wrote {_size(tally.written_bytes)},"
            f" saved {tally.saved_s:,.0f} s"
        )


def verify(as_json: Annotated[bool, AS_JSON] = False) -> None:
    """Read every stored block, and delete what is damaged."""
    from dataclasses import asdict

    from chatcli.engine.kv.rebuild import verify as look
    from chatcli.engine.kv.shelf import Files
    from chatcli.engine.kv.store import kv_dir

    store = _open()
    try:
        found = look(store.index, Files(kv_dir()))
    finally:
        store.close()
    if as_json:
        typer.echo(json.dumps(asdict(found)))
        return
    typer.echo(
        f"{found.blocks:,} blocks are whole, {_size(found.n_bytes)};"
        f" {found.damaged:,} damaged and deleted, {found.unknown:,} added to the index,"
        f" {found.missing:,} taken out of it"
    )


def prune(
    everything: Annotated[bool, typer.Option("--all", help="Delete everything.")] = False,
    model: Annotated[
        str, typer.Option(metavar="NAMESPACE", help="Delete one namespace (see `kv stats`).")
    ] = "",
) -> None:
    """Delete what no model here can use, what no session needs, and what is over the budget.

    Nothing is lost for good: a chat whose state is gone is evaluated anew.
    """
    from chatcli.engine.kv.namespace import library_digest
    from chatcli.engine.kv.shelf import Files
    from chatcli.engine.kv.store import kv_dir

    store = _open()
    try:
        rows = {row.id: row for row in store.index.rows()}
        names = {row.block.namespace.hex()[:16] for row in rows.values()}
        if model and model not in names:
            raise UsageError(f"there is no namespace {visible_line(model)}", "See chatcli kv stats")
        if everything or model:
            going = [
                r for r in rows.values() if everything or r.block.namespace.hex()[:16] == model
            ]
        else:
            store.library = library_digest()
            dead = set(store.dead())
            free = {row.id for row in store.index.release([])}
            going = [r for r in rows.values() if r.block.namespace in dead or r.id in free]
        store.drop(going)
        n_bytes = sum(row.bytes for row in going)
        n_bytes += store.evict(store.total_bytes - store.budget_bytes)
        Files(kv_dir()).sweep(everything=everything)
    finally:
        store.close()
    typer.echo(f"Deleted {_size(n_bytes)}.", err=True)


def path() -> None:
    """Print where the blocks are."""
    from chatcli.engine.kv.store import kv_dir

    typer.echo(visible_line(str(kv_dir())))


def _size(n_bytes: float) -> str:
    """Return a number of bytes in decimal units, as `ls --si` does."""
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:,.0f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.1f} GB"
