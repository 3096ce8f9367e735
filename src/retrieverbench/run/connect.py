"""Where a target's backend answers: an engine started here, a server, or nothing at all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from retrieverbench.adapter import Secret
from retrieverbench.engines import Engine, Started, load_engine
from retrieverbench.errors import BackendError, NotConfigured, Unavailable
from retrieverbench.model import Fidelity
from retrieverbench.run.endpoint import split_credentials
from retrieverbench.run.suite import TargetEntry
from retrieverbench.run.text import one_line


@dataclass(frozen=True, slots=True)
class Connection:
    """What an adapter is opened with. `fidelity` is None where only the backend knows."""

    endpoint: str
    secrets: Mapping[str, Secret]
    fidelity: Fidelity | None
    engine: Mapping[str, object] = field(default_factory=dict)


OnFetch = Callable[[str, int, int], None]
"""Told an engine's name, and how many of how many bytes of it are there."""


class Engines:
    """The engines started for one run; entries with the same engine and options share one.

    An async context manager: leaving it stops them all, in reverse order. What goes wrong
    then is kept in `faults`, a line each: the measurements are already made.
    """

    def __init__(self, on_fetch: OnFetch | None = None) -> None:
        self.faults: list[str] = []
        self._on_fetch = on_fetch
        self._stack = AsyncExitStack()
        self._started: dict[str, Started | BackendError] = {}

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def start(self, name: str, options: Mapping[str, object]) -> Started:
        """The running engine of that name; a failure to start is raised to each that asks."""
        key = f"{name} {json.dumps(options, sort_keys=True, default=str)}"
        if key not in self._started:
            self._started[key] = await self._start(name, options)
        found = self._started[key]
        if isinstance(found, BackendError):
            raise found
        return found

    async def _start(self, name: str, options: Mapping[str, object]) -> Started | BackendError:
        engine = load_engine(name)
        try:
            reason = engine.missing()
            if reason is not None:
                return NotConfigured(reason)
            if self._on_fetch is not None:
                await fetch_engine(engine, name, options, self._on_fetch)
            running = self._stopping_quietly(name, engine.start(options))
            return await self._stack.enter_async_context(running)
        except BackendError as error:
            return error
        except Exception as error:  # noqa: BLE001 - one engine's defect is one target's failure
            return Unavailable(
                f"engine {name!r} could not be started: {type(error).__name__}: {one_line(error)}"
            )

    @asynccontextmanager
    async def _stopping_quietly(
        self, name: str, running: AbstractAsyncContextManager[Started]
    ) -> AsyncIterator[Started]:
        started = await running.__aenter__()
        ended: BaseException | None = None
        try:
            yield started
        except BaseException as error:
            ended = error
            raise
        finally:
            why = (type(ended), ended, ended.__traceback__) if ended else (None, None, None)
            try:
                await running.__aexit__(*why)
            except Exception as error:  # noqa: BLE001 - told, and no reason to lose the run
                if error is not ended:
                    self.faults.append(f"engine {name!r} could not be stopped: {one_line(error)}")


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
    if entry.engine:
        started = await engines.start(entry.engine_name, entry.engine_options)
        details = {"version": started.version, **started.details}
        return Connection(
            started.endpoint, {**secrets, **started.secrets}, started.fidelity, details
        )
    endpoint = entry.endpoint
    if entry.endpoint_env:
        endpoint = environ.get(entry.endpoint_env, "")
        if not endpoint:
            raise NotConfigured(
                f"environment variable {entry.endpoint_env} is not set; "
                f"export {entry.endpoint_env}=<address of the server>"
            )
    try:
        plain, found = split_credentials(endpoint)
    except ValueError as error:
        raise Unavailable(f"{entry.endpoint_env or 'endpoint'}: {error}") from None
    return Connection(plain, {**found, **secrets}, None)


def _secret(name: str, variable: str, environ: Mapping[str, str]) -> Secret:
    value = environ.get(variable, "")
    if not value:
        raise NotConfigured(
            f"environment variable {variable} (secret {name!r}) is not set; "
            f"export {variable}=<value>"
        )
    return Secret(value)
