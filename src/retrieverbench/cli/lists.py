"""`retrieverbench adapters`, `engines`, `probes`, `keys`: what is there, and what it can do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from retrieverbench.cli.output import printable
from retrieverbench.cli.streams import kept_streams
from retrieverbench.cli.surroundings import kept_surroundings
from retrieverbench.errors import InputError, MissingClient, RetrieverBenchError

if TYPE_CHECKING:
    from retrieverbench.leaks import Probe


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
def adapters(*, name: str | None, as_json: bool) -> None:
    """List the adapters with their versions and capabilities, or why one cannot be used.

    With a NAME: what a suite may set for it under `connect`, `place` and `search`.
    """
    from retrieverbench.run import adapter_names

    if as_json and name is not None:
        raise InputError("--json: of one adapter's options there is none; leave out one of the two")
    with kept_streams(), kept_surroundings():  # adapters' files are executed
        lines = _option_lines(name) if name is not None else []
        rows = [_adapter_row(known) for known in adapter_names()] if name is None else []
    for line in lines:
        click.echo(printable(line))
    if name is not None:
        return
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    cells = [(str(row["adapter"]), str(row.get("distribution", "not usable"))) for row in rows]
    first, second = (max(map(len, column)) + 2 for column in zip(*cells, strict=True))
    for row, (listed, distribution) in zip(rows, cells, strict=True):
        capabilities = row.get("capabilities")
        why = row.get("missing") or row.get("broken")
        words = " ".join(capabilities) if isinstance(capabilities, list) else why
        click.echo(f"{listed:<{first}}{distribution:<{second}}{words}")


def _adapter_row(name: str) -> dict[str, object]:
    """What an adapter is and can do, or why it cannot be used."""
    from retrieverbench.run import load_adapter

    try:
        loaded = load_adapter(name)
    except MissingClient as error:
        return {"adapter": name, "missing": str(error)}
    except RetrieverBenchError as error:
        reason = " ".join(str(error).split()).removeprefix("adapter: ")
        return {"adapter": name, "broken": reason}
    return {
        "adapter": name,
        "distribution": f"{loaded.distribution} {loaded.version}",
        "capabilities": sorted(loaded.cls.capabilities),
    }


def _option_lines(name: str) -> list[str]:
    """Every option of an adapter, with types and defaults, where its class tells them."""
    from retrieverbench.options import option_lines
    from retrieverbench.run import load_adapter, one_line

    cls = load_adapter(name).cls
    try:
        options = getattr(cls, "options", None)
        if not isinstance(options, type):
            return [f"{name}: its class has no `options`; see its own documentation"]
        return list(option_lines(options))
    except (Exception, SystemExit) as error:  # types and defaults of foreign code
        raise InputError(
            f"adapter: {name!r}: its `options` cannot be shown: {type(error).__name__}: "
            f"{one_line(error)}; write a dataclass whose types and defaults can be read"
        ) from error


@click.command()
def keys() -> None:
    """List every key that a suite may set, with type, default and meaning.

    What an adapter takes under `connect`, `place` and `search`: retrieverbench adapters NAME.
    """
    from retrieverbench.embedding import EmbeddingConfig
    from retrieverbench.metrics import COUNTERS, METRICS
    from retrieverbench.options import option_lines
    from retrieverbench.run import FILLED_IN, Suite

    for line in option_lines(Suite, internal={*FILLED_IN, "embedding"}):
        click.echo(line)
    click.echo("embedding:")
    for line in option_lines(EmbeddingConfig, "  "):
        click.echo(line)
    click.echo("  secrets = {}  # table")
    click.echo(
        "# What `metrics` and a rule's `metric` may name, with @k behind where it has a cut:"
    )
    for metric in METRICS.values():
        click.echo(f"#   {metric.label:<16}{metric.formula}")
    click.echo(
        "# What a rule's `counter` may name; where more is better, a `minimum` its `metric`:"
    )
    for name, counter in COUNTERS.items():
        better = " (more is better)" if counter.better == "higher" else ""
        click.echo(f"#   {name:<24}{counter.meaning}{better}")


def nearest_probe(name: str, known: Sequence[Probe]) -> str:
    """What to write in the place of an id that no probe has."""
    ids = [probe.id for probe in known]
    if name.strip().upper() in ids:
        return f"did you mean {name.strip().upper()!r}?"
    return f"there are {ids[0]} to {ids[-1]}"


@click.command()
@click.argument("probe_id", metavar="[ID]", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
def probes(*, probe_id: str | None, as_json: bool) -> None:
    """List the probes of `retrieverbench leaks`; with an ID what one means and cannot see."""
    from retrieverbench.leaks import CATALOG

    found = [probe for probe in CATALOG if probe_id in (None, probe.id)]
    if probe_id is not None and not found:
        raise InputError(f"{probe_id}: no such probe; {nearest_probe(probe_id, CATALOG)}")
    rows: list[dict[str, Any]] = [
        {
            "probe": probe.id,
            "title": probe.title,
            "severity": probe.severity,
            "class": probe.leak_class,
            "modes": list(probe.modes),
            "needs": sorted(probe.needs),
            "help": probe.help,
            "limit": probe.limit,
        }
        for probe in found
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for row in rows:
        needs = f"; needs {', '.join(row['needs'])}" if row["needs"] else ""
        about = f"{row['severity']}, {row['class']}{needs}"
        click.echo(f"{row['probe']:<5}{row['title']} ({about})")
        if probe_id is not None:
            click.echo(f"     if it fails: {row['help']}")
            click.echo(f"     what it cannot see: {row['limit']}")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
def engines(*, as_json: bool) -> None:
    """List the engines that can be started on this machine, and why the others cannot.

    Also what has to be fetched before the first start, and which adapter lacks its client.
    """
    from retrieverbench.engines import engine_names, load_engine

    rows: list[dict[str, Any]] = []
    with kept_streams(), kept_surroundings():  # a plugin may have the name of an engine's adapter
        for name in engine_names():
            found = load_engine(name)
            rows.append(
                {
                    "engine": name,
                    "fidelity": found.FIDELITY,
                    "missing": found.missing(),
                    "bytes_to_fetch": getattr(found, "unfetched", int)(),
                    "adapter_missing": _missing_client(name),
                    "notes": list(getattr(found, "NOTES", ())),
                }
            )
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for row in rows:
        state = f"cannot be started: {row['missing']}" if row["missing"] else "can be started"
        click.echo(f"{row['engine']:<16}{row['fidelity']:<12}{state}")
        if row["bytes_to_fetch"]:
            size = f"{row['bytes_to_fetch'] / 1e6:.0f} MB"
            told = f"retrieverbench engine fetch {row['engine']}"
            click.echo(f"{'':<16}- its first start fetches {size}, once; beforehand: {told}")
        if row["adapter_missing"]:
            click.echo(f"{'':<16}- {row['adapter_missing']}")
        for note in row["notes"]:
            click.echo(f"{'':<16}- {note}")


def _missing_client(name: str) -> str | None:
    """What the adapter of an engine's name lacks, with the pip line for both."""
    from retrieverbench.run import load_adapter

    try:
        load_adapter(name, with_engine=True)
    except MissingClient as error:
        return str(error)
    except RetrieverBenchError:  # `retrieverbench adapters` says what is wrong with it
        return None
    return None
