"""The promise of a backend: everything that an adapter's author must keep.

An adapter is one class of four coroutines, two more (`put`, `settle`) if the harness may
load it, and one for each further capability it claims. It inherits from nothing. It must
not retry, log, print, read the environment, cache answers, swallow an item's failure in a
bulk write, fall back to another mode, shorten k, normalise what it is given, or share state
between tenants outside one transaction. Every exception of a client is raised as an error
of `retrieverbench.errors` with the cause kept and no secret in its text.

    a place of its own    open ─▶ put* ─▶ settle ─▶ search* get explain describe ─▶ close
    the user's own index  open ─────────────────▶ search* get explain describe ─▶ close
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self, runtime_checkable

from retrieverbench.model import (
    Chunk,
    Fidelity,
    Hit,
    Layout,
    Mode,
    Plan,
    Query,
    Response,
    TenantId,
)

OWN_PREFIX = "rb_"
"""Names of places made by the harness begin so; an adapter creates and removes no other."""

NOT_TOLD = "not told"
"""The weaknesses of an adapter that does not look for any."""
NOBODY = ""
"""No tenant's name: under it `Description.chunks` counts chunks without an owner."""

CAPABILITIES: Mapping[str, str] = {
    "dense": "search by vector",
    "lexical": "search by words",
    "hybrid": "search by both, fused",
    "filter": "layout: one place, a tenant condition in every query",
    "partition": "layout: a partition per tenant",
    "index": "layout: a place per tenant",
    "rls": "layout: the server itself adds the tenant condition",
    "put": "the harness can load chunks (`put`, `settle`)",
    "resume": "a load that was broken off can go on in another run (`Settings.resume`)",
    "remove": "removes a place that a killed run left (`remove`)",
    "attach": "can search an index of the user's, without writing to it",
    "unnamed_vector": "with `attach`: searches a vector without a name where the suite names none",
    "get": "reads chunks by id (`get`)",
    "delete": "deletes chunks by id (`delete`)",
    "move": "changes a chunk's owner in place (`move`)",
    "explain": "shows the backend's own plan of a query (`explain`)",
    "total": "tells how many chunks match (`want = {'total'}`)",
    "record": "shows every outgoing request to a recorder (`Settings.recorder`)",
    "credentials": "tells a tenant by a credential of its own (`credentials`, `search_with`)",
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
class Attached:
    """An index of the user's, and which of its fields hold what.

    `name` is the collection, table or index. `id` is the field whose value names a chunk
    over all tenants: a hit's uid is that value as text, and the harness translates it.
    `tenant` is the field with the owner. `text` are the fields that lexical mode searches,
    `vector` the one that dense mode searches; empty where no mode needs them, or (capability
    `unnamed_vector`) where the index's own vector has no name. `metadata`
    maps names of user conditions (`Query.where`) to fields.
    """

    name: str
    id: str
    tenant: str
    text: tuple[str, ...] = ()
    vector: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Leg:
    """One part of a request that finds chunks by itself: a prefetch, a sub-query, a clause.

    `path` says where in the request it stands. `condition` is what restricts it, in the
    backend's own language as plain JSON values (for SQL the text and the parameters); None
    when nothing does.
    """

    path: str
    condition: object


class Recorder(Protocol):
    """What sees every request before it is sent, and every answer. Absent in timed runs."""

    def request(self, operation: str, legs: Sequence[Leg], body: object) -> None:
        """One outgoing request: `operation` as the backend names it, without credentials."""
        ...

    def response(self, operation: str, body: object) -> None:
        """What came back, headers and error bodies included."""
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """What an adapter is opened with.

    `endpoint` is a URL or DSN without credentials, "" for an adapter in process. `place`
    is the name of the collection, table or index that the adapter makes for itself; it
    begins with OWN_PREFIX. With `attached` (capability `attach`) there is no place: the
    adapter binds to the user's index, checks its fields, and neither creates, writes,
    refreshes, deletes nor changes a setting. `dimension` is the length of the vectors, 0
    when no mode needs them. `modes` are those that will be asked for. `concurrency` is the
    number of searches that will be in flight: a client pool that cannot hold them must be
    refused.
    `timeout` is in seconds and per request. `options` are the adapter's own, in the groups
    `connect`, `place` and `search`; unknown keys are an InputError. `secrets` are named by
    the adapter (`api_key`, `password`, `user`). `recorder` (capability `record`) sees every
    request; None costs nothing. With `resume` (capability `resume`) a place of that name that
    is there is taken as it is, with what was put into it, and `close` leaves a place that was
    never settled; what was acknowledged outlives the server's end.
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
    attached: Attached | None = None
    recorder: Recorder | None = None
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Description:
    """What is really there, read back from the server and never echoed from the request.

    `settings` holds index kind, parameters and search settings, flat, JSON values only.
    `chunks` counts the stored chunks per tenant, by the backend's own count of its tenant
    field, those of an attached index without an owner (null, empty or absent) under NOBODY; the
    harness compares it with what it sent. `properties` are declared ones
    (`shared_idf`, `approximate`, `eventual_visibility`). `fidelity` is what the backend
    says of itself, None where it says nothing. `unchecked` lists what could not be read.
    `weaknesses` lists what makes the isolation or the figures worth less than the layout
    promises, one line each with a remedy: a role that row security does not bind, a tenant
    field that is not matched exactly, a condition applied after the approximate search. An
    adapter that does not look for any leaves it out. `unbound` lists those of them by which the
    server's own rule (layout `rls`) does not bind the role that searches. `slow` lists what costs
    time and weakens nothing (an index that is not there), with a remedy, under each mode that it
    concerns.
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
    weaknesses: tuple[str, ...] = (NOT_TOLD,)
    unbound: tuple[str, ...] = ()
    slow: Mapping[Mode, tuple[str, ...]] = field(default_factory=dict)


@runtime_checkable
class Adapter(Protocol):
    """What every adapter keeps, a user's own read-only retriever included.

    A class may also name `filter_modes`, its ways to combine the tenant's condition with an
    approximate search: for each the options that set it, by group (`{"after": {"search":
    {"filter": "after"}}}`). The leak audit asks small tenants beside crowds in each of them, and
    tells what is missing as a fact; one that changes nothing of the target's settings is its own,
    and not asked again. Name those that make the backend use its approximate index where it
    would rather search exactly. And `options`, the dataclass of what a suite may set for it,
    which `retrieverbench adapters NAME` shows and by which a suite is checked before anything
    starts. And `address`, the form of the address of the server without which it
    can do nothing (`http://HOST:PORT`).
    """

    capabilities: ClassVar[frozenset[str]]

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Connect, check what can be checked; make an empty place, or bind to the user's.

        Raises InputError for options it does not know and for mapped fields that the user's
        index does not have, or not in the right type or size, Unsupported for a claimed
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


@runtime_checkable
class Removes(Writable, Protocol):
    """Capability `remove`."""

    @classmethod
    async def remove(cls, settings: Settings) -> None:
        """Remove what `open` made at this place, and `put` since, in a run that was killed.

        All that is known of that run is `settings.endpoint`, `place`, `layout` and `resume`;
        there are no `modes` and no `dimension`. What is not there, or only in part, is no
        error; nothing else is touched.
        """
        ...


@runtime_checkable
class ReadsById(Adapter, Protocol):
    """Capability `get`."""

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        """The tenant's own among these chunks, with text and tenant, score 1.0.

        A foreign uid is answered exactly as one that does not exist: it is not there.
        """
        ...


@runtime_checkable
class NamesBesideCredentials(Adapter, Protocol):
    """Capability `credentials`: a request bears a credential, and may name a tenant beside it."""

    @property
    def credentials(self) -> Mapping[str, Secret]:
        """By tenant, of those that have one of their own."""
        ...

    async def search_with(self, query: Query, credential: Secret | None) -> Response:
        """As `search`, in the name of `query.tenant`, with this credential instead of its own."""
        ...


@runtime_checkable
class Deletes(Writable, Protocol):
    """Capability `delete`."""

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        """Remove the tenant's own among these chunks; foreign and absent ones are no error.

        After the next `settle` nothing of them is found.
        """
        ...


@runtime_checkable
class Moves(Writable, Protocol):
    """Capability `move`."""

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        """Change the owner of a chunk of `source`, and nothing of anybody else's.

        The uid stays. After the next `settle` only `target` finds it.
        """
        ...


@runtime_checkable
class Explains(Adapter, Protocol):
    """Capability `explain`."""

    async def explain(self, query: Query) -> Plan:
        """The backend's plan or profile of exactly this query, by the route `search` takes."""
        ...
