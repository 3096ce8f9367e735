"""Where a target's backend answers: an engine started here, a server, or nothing at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from retrieverbench.adapter import Secret
from retrieverbench.engines import Started, engine_names, load_engine
from retrieverbench.errors import BackendError, NotConfigured
from retrieverbench.model import Fidelity
from retrieverbench.run.suite import TargetEntry


@dataclass(frozen=True, slots=True)
class Connection:
    """What an adapter is opened with. `fidelity` is None where only the backend knows."""

    endpoint: str
    secrets: Mapping[str, Secret]
    fidelity: Fidelity | None
    engine: Mapping[str, object] = field(default_factory=dict)


class Engines:
    """The engines started for one run; entries with the same engine and options share one.

    An async context manager: leaving it stops them all, in reverse order.
    """

    def __init__(self) -> None:
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
        if name not in engine_names():
            return NotConfigured(
                f"adapter {name!r} has no engine that can be started here; "
                "give the target an endpoint or endpoint_env"
            )
        engine = load_engine(name)
        reason = engine.missing()
        if reason is not None:
            return NotConfigured(reason)
        try:
            return await self._stack.enter_async_context(engine.start(options))
        except BackendError as error:
            return error


async def connect(entry: TargetEntry, environ: Mapping[str, str], engines: Engines) -> Connection:
    """Find or start what the entry names.

    Raises BackendError, with the remedy in its text, for an engine that cannot start and
    for an environment variable that is not set.
    """
    secrets = {name: _secret(name, variable, environ) for name, variable in entry.secrets.items()}
    if entry.engine:
        started = await engines.start(entry.adapter, entry.engine_options)
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
    plain, found = split_credentials(endpoint)
    return Connection(plain, {**found, **secrets}, None)


def split_credentials(endpoint: str) -> tuple[str, dict[str, Secret]]:
    """An address without its user and password, and these as secrets `user`, `password`."""
    parts = urlsplit(endpoint)
    if not parts.scheme or "@" not in parts.netloc:
        return endpoint, {}
    credentials, _, host = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    secrets = {"user": Secret(unquote(user))} if user else {}
    if password:
        secrets["password"] = Secret(unquote(password))
    plain = SplitResult(parts.scheme, host, parts.path, parts.query, parts.fragment)
    return urlunsplit(plain), secrets


def _secret(name: str, variable: str, environ: Mapping[str, str]) -> Secret:
    value = environ.get(variable, "")
    if not value:
        raise NotConfigured(
            f"environment variable {variable} (secret {name!r}) is not set; "
            f"export {variable}=<value>"
        )
    return Secret(value)
