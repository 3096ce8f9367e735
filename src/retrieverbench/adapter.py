"""The promise of a backend: everything that an adapter's author must keep.

An adapter is one class of four coroutines, two more (`put`, `settle`) if the harness may
load it. It inherits from nothing. It must not retry, log, print, read the environment,
cache answers, swallow an item's failure in a bulk write, fall back to another mode,
shorten k, normalise what it is given, or share state between tenants outside one
transaction. Every exception of a client is raised as an error of `retrieverbench.errors`
with the cause kept and no secret in its text.

    open(Settings) ─▶ put* ─▶ settle ─▶ search* describe ─▶ close
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self, runtime_checkable

from retrieverbench.model import Chunk, Fidelity, Layout, Mode, Query, Response

OWN_PREFIX = "rb_"
"""Names of places made by the harness begin so; an adapter creates and removes no other."""

CAPABILITIES: Mapping[str, str] = {
    "dense": "search by vector",
    "lexical": "search by words",
    "hybrid": "search by both, fused",
    "filter": "layout: one place, a tenant condition in every query",
    "partition": "layout: a partition per tenant",
    "index": "layout: a place per tenant",
    "rls": "layout: the server itself adds the tenant condition",
    "put": "the harness can load chunks (`put`, `settle`)",
    "where": "user conditions on metadata, combined by AND with the tenant",
    "exact": "dense search can be exact (search option `exact = true`)",
    "stable_ties": "equal scores come in the same order every time",
}


class Secret:
    """A credential. Its value is read by `reveal`; repr, str and format hide it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The credential itself, for the client's constructor and nothing else."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"


@dataclass(frozen=True, slots=True)
class Settings:
    """What an adapter is opened with.

    `endpoint` is a URL or DSN without credentials, "" for an adapter in process. `place`
    is the name of the collection, table or index that the adapter makes for itself; it
    begins with OWN_PREFIX. `dimension` is the length of the vectors, 0 when no mode needs
    them. `modes` are those that will be asked for. `concurrency` is the number of
    searches that will be in flight: a client pool that cannot hold them must be refused.
    `timeout` is in seconds and per request. `options` are the adapter's own, in the groups
    `connect`, `place` and `search`; unknown keys are an InputError. `secrets` are named by
    the adapter (`api_key`, `password`, `user`).
    """

    endpoint: str
    place: str
    modes: frozenset[Mode]
    layout: Layout = "filter"
    dimension: int = 0
    concurrency: int = 1
    timeout: float = 30.0
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Description:
    """What is really there, read back from the server and never echoed from the request.

    `settings` holds index kind, parameters and search settings, flat, JSON values only.
    `chunks` counts the stored chunks per tenant, by the backend's own count of its tenant
    field; the harness compares it with what it sent. `properties` are declared ones
    (`shared_idf`, `approximate`, `eventual_visibility`). `fidelity` is what the backend
    says of itself, None where it says nothing. `unchecked` lists what could not be read.
    """

    server: str
    server_version: str
    client: str
    client_version: str
    settings: Mapping[str, object]
    chunks: Mapping[str, int]
    properties: frozenset[str] = frozenset()
    fidelity: Fidelity | None = None
    unchecked: tuple[str, ...] = ()


@runtime_checkable
class Adapter(Protocol):
    """What every adapter keeps, a user's own read-only retriever included."""

    capabilities: ClassVar[frozenset[str]]

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Connect, check what can be checked, and make an empty place of its own.

        Raises InputError for options it does not know, Unsupported for a claimed
        capability that this server cannot honour, Rejected when the place already exists
        with another schema, and otherwise the BackendError that fits.
        """
        ...

    async def search(self, query: Query) -> Response:
        """At most `query.k` hits of `query.tenant`, best first, in `query.mode`.

        Safe under many concurrent tasks. A cancelled call leaves no state behind that
        another call could see.
        """
        ...

    async def describe(self) -> Description:
        """What is really there; called before and after a run."""
        ...

    async def close(self) -> None:
        """Release everything and remove what this object created. Safe to call twice."""
        ...


@runtime_checkable
class Writable(Adapter, Protocol):
    """Capability `put`: the harness can load it."""

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Insert or replace by uid; return when the server has acknowledged all of them."""
        ...

    async def settle(self) -> None:
        """Build what must be built; return when everything written is searchable.

        Has a deadline (`TimedOut`) and never sleeps blindly.
        """
        ...
