"""`retrieverbench adapters`, `engines`: what is installed and what can be started."""

from __future__ import annotations

import json
from typing import Any

import click

from retrieverbench.errors import MissingClient, RetrieverBenchError


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
def adapters(*, as_json: bool) -> None:
    """List the adapters with their versions and capabilities, or why one cannot be used."""
    from retrieverbench.run import adapter_names, load_adapter

    rows: list[dict[str, object]] = []
    for name in adapter_names():
        try:
            loaded = load_adapter(name)
        except MissingClient as error:
            rows.append({"adapter": name, "missing": str(error)})
            continue
        except RetrieverBenchError as error:
            reason = " ".join(str(error).split()).removeprefix("adapter: ")
            rows.append({"adapter": name, "broken": reason})
            continue
        rows.append(
            {
                "adapter": name,
                "distribution": f"{loaded.distribution} {loaded.version}",
                "capabilities": sorted(loaded.cls.capabilities),
            }
        )
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for row in rows:
        capabilities = row.get("capabilities")
        why = row.get("missing") or row.get("broken")
        words = " ".join(capabilities) if isinstance(capabilities, list) else why
        click.echo(f"{row['adapter']:<16}{row.get('distribution', 'not usable'):<24}{words}")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
def engines(*, as_json: bool) -> None:
    """List the engines that can be started on this machine, and why the others cannot.

    Also what has to be fetched before the first start, and which adapter lacks its client.
    """
    from retrieverbench.engines import engine_names, load_engine

    rows: list[dict[str, Any]] = []
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
