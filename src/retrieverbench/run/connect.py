"""Where a target's backend answers: an engine started here, a server, or nothing at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import anyio

from retrieverbench.adapter import Secret
from retrieverbench.engines import Engine, Started, load_engine
from retrieverbench.engines.compose import Compose
from retrieverbench.errors import NotConfigured, RetrieverBenchError, Unavailable
from retrieverbench.model import Fidelity
from retrieverbench.run.endpoint import split_credentials
from retrieverbench.run.suite import TargetEntry
from retrieverbench.run.text import one_line, refuse_short


@dataclass(frozen=True, slots=True)
class Connection:
    """What an adapter is opened with. `fidelity` is None where only the backend knows.

    `credentials` says which environment variables the credentials come from, "" without any.
    """

    endpoint: str
    secrets: Mapping[str, Secret]
    fidelity: Fidelity | None
    engine: Mapping[str, object] = field(default_factory=dict)
    credentials: str = ""


OnFetch = Callable[[str, int, int], None]
"""Told an engine's name, and how many of how many bytes of it are there."""


class Engines:
    """The engines started for one run; entries with the same engine and options share one.

    An async context manager: leaving it stops them all, those that are still starting too.
    What goes wrong then is kept in `faults`, a line each: the measurements are already made.
    With `compose` a service of the engine's name takes the engine's place.
    """

    def __init__(self, on_fetch: OnFetch | None = None, compose: Compose | None = None) -> None:
        self.faults: list[str] = []
        self._on_fetch = on_fetch
        self._compose = compose
        self._kept: dict[str, _Kept] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await asyncio.gather(*(kept.stop() for kept in self._kept.values()))
        self.faults += [kept.fault for kept in self._kept.values() if kept.fault]

    def needed_by(self, entry: TargetEntry) -> str:
        """The engine or service that the entry is answered by; "" where it needs none."""
        return entry.service if self._serves(entry.service) else entry.engine_name

    def begin(self, name: str, options: Mapping[str, object]) -> None:
        """Start the engine in the background, unless it is there; `start` waits for it."""
        key = self._key(name, options)
        if key in self._kept:
            return
        if self._compose is not None and self._serves(name):
            self._kept[key] = _Kept(name, self._compose.start(name))
        else:
            self._kept[key] = _Kept(name, self._running(name, options))

    async def start(self, name: str, options: Mapping[str, object]) -> Started:
        """The running engine of that name; a failure to start is raised to each that asks."""
        self.begin(name, options)
        return await self._kept[self._key(name, options)].started()

    def _serves(self, name: str) -> bool:
        return self._compose is not None and name in self._compose.services

    def _key(self, name: str, options: Mapping[str, object]) -> str:
        """One per process to start: the options of an engine say nothing to a service."""
        return (
            name
            if self._serves(name)
            else f"{name} {json.dumps(options, sort_keys=True, default=str)}"
        )

    @asynccontextmanager
    async def _running(self, name: str, options: Mapping[str, object]) -> AsyncIterator[Started]:
        engine = load_engine(name)
        reason = engine.missing()
        if reason is not None:
            raise NotConfigured(reason)
        if self._on_fetch is not None:
            await fetch_engine(engine, name, options, self._on_fetch)
        async with engine.start(options) as started:
            yield started


class _Kept:
    """One engine in a task of its own, from its start to its end.

    The task is no child of a task group: when a run is cancelled, its places must be closed
    before their engines go.
    """

    def __init__(self, name: str, running: AbstractAsyncContextManager[Started]) -> None:
        self.fault: str | None = None
        self._name = name
        self._running = running
        self._outcome: Started | RetrieverBenchError | None = None
        self._known, self._enough = anyio.Event(), anyio.Event()
        self._scope = anyio.CancelScope()
        self._task = asyncio.create_task(self._keep())

    async def started(self) -> Started:
        await self._known.wait()
        if isinstance(self._outcome, RetrieverBenchError):
            raise self._outcome
        assert self._outcome is not None
        return self._outcome

    async def stop(self) -> None:
        if not self._known.is_set():
            self._scope.cancel()
        self._enough.set()
        await self._task

    async def _keep(self) -> None:
        with self._scope:
            try:
                async with self._running as started:
                    self._outcome = started
                    self._known.set()
                    await self._enough.wait()
            except Exception as error:  # noqa: BLE001 - one engine's defect, one target's failure
                self._failed(error)

    def _failed(self, error: Exception) -> None:
        """A failure to start is what those who asked get; one to stop is told."""
        if self._outcome is not None:
            self.fault = f"engine {self._name!r} could not be stopped: {one_line(error)}"
        elif isinstance(error, RetrieverBenchError):
            self._outcome = error
        else:
            self._outcome = Unavailable(
                f"engine {self._name!r} could not be started: "
                f"{type(error).__name__}: {one_line(error)}"
            )
        self._known.set()


async def fetch_engine(
    engine: Engine, name: str, options: Mapping[str, object], on_fetch: OnFetch
) -> None:
    """Fetch what an engine needs beyond its packages, if anything; `start` finds it then."""
    fetch = getattr(engine, "fetch", None)
    if fetch is None:
        return
    where = {key: options[key] for key in ("cache", "repository") if key in options}

    def tell(done: int, total: int, _file: str) -> None:
        on_fetch(name, done, total)

    await fetch(tell, **where)


async def connect(entry: TargetEntry, environ: Mapping[str, str], engines: Engines) -> Connection:
    """Find or start what the entry names.

    Raises BackendError, with the remedy in its text, for an engine that cannot start and
    for an environment variable that is not set or holds no address.
    """
    secrets = {name: _secret(name, variable, environ) for name, variable in entry.secrets.items()}
    name = engines.needed_by(entry)
    if name:
        started = await engines.start(name, entry.engine_options)
        details = {"version": started.version, **started.details}
        plain, found = _split(started.endpoint, name)
        secrets = {**found, **secrets, **started.secrets}
        refuse_short(secrets, f"target {entry.name!r}")
        return Connection(plain, secrets, started.fidelity, details)
    endpoint = entry.endpoint
    if entry.endpoint_env:
        endpoint = environ.get(entry.endpoint_env, "")
        if not endpoint:
            raise NotConfigured(
                f"environment variable {entry.endpoint_env} is not set; "
                f"export {entry.endpoint_env}=<address of the server>"
            )
    plain, found = _split(endpoint, entry.endpoint_env or "endpoint")
    origin = _origin(entry, found)
    secrets = {**found, **secrets}
    refuse_short(secrets, f"target {entry.name!r}")
    return Connection(plain, secrets, None, credentials=origin)


def _origin(entry: TargetEntry, in_address: Mapping[str, Secret]) -> str:
    """Where a reader finds the credentials that a server may refuse."""
    variables = list(entry.secrets.values())
    if in_address.keys() - entry.secrets.keys():
        variables.insert(0, entry.endpoint_env)
    if not variables:
        return f"neither the address nor 'secrets' of target {entry.name!r} holds any"
    named = ", ".join(variable for variable in variables if variable)
    return f"they come from environment variable {named}" if named else "they stand in the suite"


def _split(endpoint: str, source: str) -> tuple[str, dict[str, Secret]]:
    """The address without its credentials, wherever it comes from."""
    try:
        return split_credentials(endpoint)
    except ValueError as error:
        raise Unavailable(f"{source}: {error}") from None


def _secret(name: str, variable: str, environ: Mapping[str, str]) -> Secret:
    value = environ.get(variable, "")
    if not value:
        raise NotConfigured(
            f"environment variable {variable} (secret {name!r}) is not set; "
            f"export {variable}=<value>"
        )
    return Secret(value)
