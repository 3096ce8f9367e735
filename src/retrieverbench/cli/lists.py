"""`retrieverbench adapters`, `engines`, `engine`: what is installed and what can be started."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieverbench.errors import MissingClient, RetrieverBenchError

if TYPE_CHECKING:
    from retrieverbench.engines import Started


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
    """List the engines that can be started on this machine, and why the others cannot."""
    from retrieverbench.engines import engine_names, load_engine

    rows = []
    for name in engine_names():
        found = load_engine(name)
        rows.append({"engine": name, "fidelity": found.FIDELITY, "missing": found.missing()})
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for row in rows:
        state = f"cannot be started: {row['missing']}" if row["missing"] else "can be started"
        click.echo(f"{row['engine']:<16}{row['fidelity']:<12}{state}")


@click.group()
def engine() -> None:
    """Fetch or start one engine by hand."""


@engine.command()
@click.argument("name")
def fetch(name: str) -> None:
    """Fetch what an engine needs, once, into the user's cache folder."""
    import anyio

    from retrieverbench.cli.progress import show_progress
    from retrieverbench.engines import load_engine
    from retrieverbench.job import fetching
    from retrieverbench.run import fetch_engine

    found = load_engine(name)
    with show_progress(plain=not sys.stderr.isatty()) as progress:
        anyio.run(fetch_engine, found, name, {}, fetching(progress))
    click.echo(f"{name}: everything is there")


@engine.command()
@click.argument("name")
@click.option("--ready-file", type=click.Path(path_type=Path), help="JSON: endpoint, version, pid.")
def start(name: str, ready_file: Path | None) -> None:
    """Start an engine and keep it until interrupted (Ctrl-C)."""
    import anyio

    from retrieverbench.engines import load_engine

    found = load_engine(name)
    reason = found.missing()
    if reason is not None:
        raise MissingClient(reason)

    async def keep() -> None:
        import signal

        async with found.start({}) as started:
            if ready_file is not None:
                _write_ready(ready_file, started)
            click.echo(f"{name} {started.version} answers at {started.endpoint}")
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for _ in signals:
                    break

    try:
        anyio.run(keep)
    finally:
        if ready_file is not None:
            ready_file.unlink(missing_ok=True)


def _write_ready(path: Path, started: Started) -> None:
    """What a client needs to reach the engine, its secrets included: readable by us alone."""
    ready = {
        "endpoint": started.endpoint,
        "fidelity": started.fidelity,
        "version": started.version,
        "secrets": {key: secret.reveal() for key, secret in started.secrets.items()},
        "pid": os.getpid(),
    }
    partial = path.with_name(path.name + ".tmp")
    partial.touch(mode=0o600)
    partial.write_text(json.dumps(ready), encoding="utf-8")
    partial.replace(path)
