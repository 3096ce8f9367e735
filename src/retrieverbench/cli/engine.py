"""`retrieverbench engine`: fetch or start one engine by hand."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import click

from retrieverbench.cli.output import tell
from retrieverbench.errors import InputError, Interrupted, MissingClient, Unavailable
from retrieverbench.files import holds_other

if TYPE_CHECKING:
    from retrieverbench.engines import Engine, Started


@click.group()
def engine() -> None:
    """Fetch or start one engine by hand."""


@engine.command()
@click.argument("name")
def fetch(name: str) -> None:
    """Fetch what an engine needs, once, into the user's cache folder.

    What makes later starts faster is made there, too.
    """
    import anyio

    from retrieverbench.cli.progress import show_progress
    from retrieverbench.engines import load_engine
    from retrieverbench.job import fetching
    from retrieverbench.run import fetch_engine

    found = load_engine(name)
    with show_progress(plain=not sys.stderr.isatty()) as progress:
        anyio.run(fetch_engine, found, name, {}, fetching(progress))
    prepare = getattr(found, "prepare", None)
    if prepare is not None:
        tell(f"{name}: making what lets it start faster, once")
        anyio.run(prepare)
    click.echo(f"{name}: everything is there")


@engine.command()
@click.argument("name")
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON: endpoint, version, secrets, pid and, of pgvector, dsn. Only your user can read it, "
    "and it goes when the engine does.",
)
def start(name: str, ready_file: Path | None) -> None:
    """Start an engine and keep it until interrupted (Ctrl-C).

    Exits 3 with the engine's own last words when it ends by itself.
    """
    import anyio

    from retrieverbench.engines import load_engine

    found = load_engine(name)
    reason = found.missing()
    if reason is not None:
        raise MissingClient(reason)
    if ready_file is not None:
        with _naming(ready_file):
            if holds_other(ready_file, b'"endpoint"', b'"pid"'):
                raise InputError(
                    f"--ready-file: {ready_file} holds something else; name another file"
                )
            ready_file.unlink(missing_ok=True)  # what an earlier start left tells nothing now
            ready_file.parent.stat()
    anyio.run(_keep, found, name, ready_file)


async def _keep(engine: Engine, name: str, ready_file: Path | None) -> None:
    """Start it and return at Ctrl-C or SIGTERM; Unavailable when the engine ends before.

    A signal during the start raises Interrupted. The first one stops the engine and removes
    its folder, however many follow.
    """
    import anyio

    from retrieverbench.job import stopped_by
    from retrieverbench.run import engine_at

    ended, answers = None, False
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with stopped_by(signals.__anext__), engine.start({}) as started:
            assert started.process is not None
            if ready_file is not None:
                with _naming(ready_file):
                    started.process.publish(ready_file, _ready(started))
            click.echo(f"{name} {started.version} answers at {started.endpoint}")
            if ready_file is None and started.secrets:
                click.echo(_where_secrets_are(started.secrets))
            answers = True
            with engine_at(started.endpoint):
                ended = await started.process.wait()
    if not answers:
        raise Interrupted("interrupted before the engine answered")
    if ended is not None:
        raise Unavailable(ended)


def _where_secrets_are(names: Iterable[str]) -> str:
    """What to do for the credentials, which no terminal shows."""
    named = " and ".join(sorted(names, reverse=True))
    return f"{named}: start with --ready-file FILE, which holds them"


def _ready(started: Started) -> str:
    """What a client needs to reach the engine, its secrets included.

    `dsn` is the address with user and password in it, where it takes both.
    """
    secrets = {key: secret.reveal() for key, secret in started.secrets.items()}
    ready: dict[str, object] = {
        "endpoint": started.endpoint,
        "fidelity": started.fidelity,
        "version": started.version,
        "secrets": secrets,
        "pid": os.getpid(),
    }
    if {"user", "password"} <= secrets.keys():
        user, password = (quote(secrets[name], safe="") for name in ("user", "password"))
        parts = urlsplit(started.endpoint)
        ready["dsn"] = parts._replace(netloc=f"{user}:{password}@{parts.netloc}").geturl()
    return json.dumps(ready)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say of an error of the file system which option it is about."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"--ready-file: {path} cannot be written ({error.strerror}); "
            "name a file in a folder that exists and is writable"
        ) from error
