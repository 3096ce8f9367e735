"""A small retriever that keeps every promise, to be broken in one way, and one probe at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Self

import anyio.lowlevel

from retrieverbench.adapter import Adapter, Description, Leg, Settings
from retrieverbench.errors import TenantError
from retrieverbench.leaks import (
    ARMS,
    AS_IS,
    CATALOG,
    DIMENSION,
    AuditPlan,
    Draw,
    RequestLog,
    Scene,
    Variant,
    audit_target,
    make_world,
)
from retrieverbench.model import (
    DEFAULT_TENANT_PATTERN,
    MODES,
    Chunk,
    Hit,
    Layout,
    Mode,
    ProbeResult,
    Query,
    Response,
    TenantId,
)
from retrieverbench_adapters.memory import Memory
from retrieverbench_adapters.memory.options import Options

DRAW = Draw(7, ("acme",))
"""Its tenants are acme and three new ones."""


class Toy:
    """Exact search over a list, one request per search with a leg per kind of search.

    A faulty retriever overrides one method.
    """

    capabilities: ClassVar[frozenset[str]] = Memory.capabilities | {"record"}
    layout: ClassVar[Layout] = "filter"

    def __init__(self, log: RequestLog) -> None:
        self.log = log
        self.chunks: dict[str, Chunk] = {}
        self.owners: dict[str, TenantId] = {}

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        raise NotImplementedError("made by its constructor")

    def check(self, tenant: TenantId) -> None:
        value: object = tenant.value
        if type(value) is not str or not value.strip():
            raise TenantError(f"toy: {value!r:.80} names no tenant")

    def key(self, chunk: Chunk) -> str:
        return chunk.uid

    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return tenant == owner

    def matches(self, chunk: Chunk, where: Mapping[str, object]) -> bool:
        return all(chunk.metadata.get(key) == value for key, value in where.items())

    def allowed(self, query: Query, chunk: Chunk, owner: TenantId) -> bool:
        return self.is_own(query.tenant, owner) and self.matches(chunk, query.where)

    def condition(self, tenant: TenantId) -> object:
        return {"term": {"tenant": tenant.value}}

    def hit_text(self, chunk: Chunk) -> str:
        return chunk.text

    async def put(self, chunks: Sequence[Chunk]) -> None:
        for chunk in chunks:
            self.check(chunk.tenant)
        self.chunks |= {self.key(chunk): chunk for chunk in chunks}
        self.owners |= {self.key(chunk): chunk.tenant for chunk in chunks}

    async def settle(self) -> None:
        return None

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        self.check(tenant)
        own = [uid for uid in uids if uid in self.owners and self.is_own(tenant, self.owners[uid])]
        return [Hit(uid, 1.0, self.owners[uid].value, self.chunks[uid].text) for uid in own]

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        for uid in uids:
            if uid in self.owners and self.is_own(tenant, self.owners[uid]):
                del self.owners[uid], self.chunks[uid]

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        if self.owners.get(uid) == source:
            self.owners[uid] = target

    def candidates(self, query: Query) -> list[tuple[float, str]]:
        found = []
        for uid, chunk in self.chunks.items():
            if self.allowed(query, chunk, self.owners[uid]):
                score = self.score(query, chunk)
                if score is not None:
                    found.append((-score, uid))
        return sorted(found)

    def score(self, query: Query, chunk: Chunk) -> float | None:
        words = set(query.text.casefold().split()) & set(chunk.text.casefold().split())
        if query.mode == "lexical":
            return float(len(words)) if words else None
        assert query.vector is not None
        assert chunk.vector is not None
        cosine = sum(x * y for x, y in zip(query.vector, chunk.vector, strict=True))
        return cosine if query.mode == "dense" else cosine + len(words) / 10

    async def search(self, query: Query) -> Response:
        self.check(query.tenant)
        parts = ("dense", "lexical") if query.mode == "hybrid" else (query.mode,)
        legs = [Leg(part, self.condition(query.tenant)) for part in parts]
        self.log.request("search", legs, {"text": query.text, "where": dict(query.where)})
        await anyio.lowlevel.checkpoint()
        best = self.candidates(query)
        hits = [
            Hit(uid, -score, self.owners[uid].value, self.hit_text(self.chunks[uid]))
            for score, uid in best[: query.k]
        ]
        return Response(hits, total=len(best) if "total" in query.want else None)

    async def describe(self) -> Description:
        counts: dict[str, int] = {}
        for owner in self.owners.values():
            counts[owner.value] = counts.get(owner.value, 0) + 1
        return Description("toy", "1", "toy", "1", {}, counts)

    async def close(self) -> None:
        return None


async def audit(
    make: Callable[[RequestLog], Any],
    *ids: str,
    pattern: str = DEFAULT_TENANT_PATTERN,
    capabilities: frozenset[str] | None = None,
    layout: Layout = "filter",
    modes: Sequence[Mode] = MODES,
) -> list[ProbeResult]:
    """The results of these probes (of all without ids), in these modes and every arm."""
    log = RequestLog()

    @asynccontextmanager
    async def opened(chunks: Sequence[Chunk], _variant: Variant = AS_IS) -> AsyncIterator[Adapter]:
        adapter = make(log)
        await adapter.put(chunks)
        await adapter.settle()
        yield adapter
        await adapter.close()

    world = make_world(DRAW)
    results: list[ProbeResult] = []
    async with opened(world.all_chunks()) as adapter:
        claimed = adapter.capabilities if capabilities is None else capabilities
        blank = Scene(
            adapter=adapter,
            open=opened,
            world=world,
            draw=DRAW,
            target="toy",
            probe="",
            mode="dense",
            arm="guarded",
            timeout=5.0,
            log=log if "record" in claimed else None,
            layout=layout,
            capabilities=claimed,
            pattern=pattern,
        )
        probes = [probe for probe in CATALOG if not ids or probe.id in ids]
        await audit_target(blank, AuditPlan(probes, modes, ARMS), results)
    return results


async def outcomes(make: Callable[[RequestLog], Any], *ids: str, **more: Any) -> set[str]:
    """The different outcomes of these probes."""
    return {result.outcome for result in await audit(make, *ids, **more)}


def memory(layout: Layout = "filter") -> Callable[[RequestLog], Memory]:
    """The clean adapter."""

    def make(_log: RequestLog) -> Memory:
        return Memory(Settings("", "rb_probe", frozenset(MODES), layout, DIMENSION), Options())

    return make
