"""The indices of one target: made, filled, made searchable, counted, described, removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

from retrieverbench.adapter import NOBODY
from retrieverbench.errors import (
    BackendError,
    Refused,
    Rejected,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import Chunk, TenantId
from retrieverbench.remote.batches import batches
from retrieverbench.remote.lucene.answers import (
    as_text,
    check_bulk,
    difference,
    flat,
    tenant_field_fault,
)
from retrieverbench.remote.lucene.requests import (
    Isolation,
    Json,
    Scope,
    TextIndex,
    bulk_lines,
    dump,
    header,
    names,
    tenant_scope,
)

Answer = Any
_PAGE = 1_000
_EXISTS = "resource_already_exists_exception"
_ALIAS = (
    "isolation is a filter of an alias, which is no security control: a read by id or from the "
    "index itself is not filtered; use layout 'filter', 'partition' or 'index'"
)


class Send(Protocol):
    """One request by the adapter's client; every error is one of ours.

    `body` is JSON, or lines of it for bulk and multi-search; `timeout` in seconds, None for
    that of a search.
    """

    async def __call__(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        params: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """The decoded answer."""
        ...


@dataclass(slots=True)
class Indices:
    """One index, or one per tenant (isolation `index`); `body` is their mapping and settings.

    `backend` names the adapter in messages. Only what this object made is removed by it, and
    an `attached` index is not written to at all. `stored` is the value of `_source` by which
    the server gives back all that was written, vectors included. `weak` and `unchecked` are
    what was found, or could not be read, when an attached index was bound to, and `owners` the
    whole numbers that its tenant field can hold, None if it holds texts. With `resume` an index
    of equal schema is a load of ours that was broken off: it is filled on, and removed once it
    was `settled`.
    """

    backend: str
    send: Send
    place: str
    isolation: Isolation
    text: TextIndex
    body: Json
    timeout: float
    attached: bool = False
    resume: bool = False
    settled: bool = False
    stored: Json | bool = True
    weak: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    owners: range | None = None
    made: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    def scope(self, tenant: TenantId) -> Scope:
        """Where the tenant's chunks lie and what restricts a search to them."""
        field = self.text.names.tenant
        return tenant_scope(self.place, self.isolation, tenant, field, self.owners)

    @property
    def all(self) -> str:
        """What names every index of the target, for requests that are of no tenant."""
        return f"{self.place}.*" if self.isolation == "index" else self.place

    async def open(self) -> None:
        """Make the index, or take one of equal schema; one per tenant is made by `put`.

        With `resume` those of tenants are taken, too, and what was put before is searchable.
        """
        if self.attached:
            return
        if self.isolation != "index":
            await self._make(self.place)
        elif self.resume:
            for name, shown in (await self.send("GET", f"/{self.all}")).items():
                self._take(name, shown)
                self.known.add(name)
        if self.resume:
            await self.refresh()

    async def put(self, chunks: Sequence[Chunk], batch_bytes: int) -> None:
        """Bulk requests of at most `batch_bytes`; the first item that fails is raised."""
        self.refuse_to_write()
        await self.make_for({chunk.tenant for chunk in chunks})
        vectors = "vector" in self.body["mappings"]["properties"]
        lines = (
            bulk_lines(chunk, self._home(chunk.tenant), self.text, vectors=vectors)
            for chunk in chunks
        )
        for batch in batches(lines, batch_bytes, measure=len):
            answer = await self.send("POST", "/_bulk", b"".join(batch), timeout=self.timeout)
            check_bulk(self.backend, answer, len(batch))

    async def settle(self, *, force_merge: bool) -> None:
        """Refresh; with `force_merge` first merge to one segment."""
        self.refuse_to_write()
        with anyio.move_on_after(self.timeout) as deadline:
            if force_merge:
                one = {"max_num_segments": "1"}
                path = f"/{self.all}/_forcemerge"
                await self.send("POST", path, params=one, timeout=self.timeout)
            await self.refresh()
        if deadline.cancelled_caught:
            raise TimedOut(f"{self.backend}: not settled after {self.timeout:g} s")
        self.settled = True

    async def refresh(self) -> None:
        """Make searchable what was written."""
        answer = await self.send("POST", f"/{self.all}/_refresh", timeout=self.timeout)
        if answer["_shards"]["failed"]:
            raise Unavailable(f"{self.backend}: refresh failed: {answer['_shards']}")

    def refuse_to_write(self) -> None:
        """Raise Unsupported where the index is the user's; nothing is sent then."""
        if self.attached:
            raise Unsupported(
                f"{self.backend}: index {self.place!r} is the user's own and is not written to"
            )

    async def search(self, tenant: TenantId, body: Json) -> Answer:
        """One search where the tenant has its chunks."""
        scope = self.scope(tenant)
        told = {key: as_text(value) for key, value in header(scope).items()}
        return await self.send("POST", f"/{scope.index}/_search", dump(body), told)

    async def search_both(self, tenant: TenantId, bodies: Sequence[Json]) -> Answer:
        """Several searches of the tenant in one request."""
        scope = self.scope(tenant)
        head = dump({"index": scope.index, **header(scope)})
        lines = b"".join(head + dump(body) for body in bodies)
        return await self.send("POST", "/_msearch", lines)

    async def counts(self) -> tuple[dict[str, int], int]:
        """Chunks per tenant, of all tenants: page after page, because a terms list is cut; and all.

        Of an index of the user's also those without an owner. One with several is of each of them.
        """
        counts: Counter[str] = Counter()
        missing = {"missing_bucket": True} if self.attached else {}
        pages: Json = {
            "size": _PAGE,
            "sources": [{"tenant": {"terms": {"field": self.text.names.tenant, **missing}}}],
        }
        while True:
            parts = {"tenants": {"composite": pages}}
            body = {"size": 0, "track_total_hits": True, "aggs": parts}
            answer = await self.send("POST", f"/{self.all}/_search", dump(body))
            found = answer.get("aggregations", {}).get("tenants", {"buckets": []})
            for bucket in found["buckets"]:
                owner = bucket["key"]["tenant"]
                counts[NOBODY if owner is None else str(owner)] += bucket["doc_count"]
            if "after_key" not in found:
                return dict(counts), answer["hits"].get("total", {}).get("value", counts.total())
            pages["after"] = found["after_key"]

    async def settings(self) -> tuple[Json, tuple[str, ...]]:
        """Settings and mapping as the server tells them, flat, and what weakens the isolation."""
        if self.unchecked:  # an index of the user's that this credential may only search
            return {"isolation": self.isolation}, self.weak
        got = await self.send("GET", f"/{self.all}")
        found: Json = {"isolation": self.isolation, "indices": len(got)}
        with suppress(*([Refused] if self.attached else [])):
            stats = await self.send("GET", f"/{self.all}/_stats/docs,store")
            found["docs_deleted"] = stats["_all"]["primaries"].get("docs", {}).get("deleted", 0)
        faults = {tenant_field_fault(index, self.text.names.tenant) for index in got.values()}
        weak = [*self.weak, *(fault for fault in sorted(faults) if fault)]
        if self.isolation == "alias":
            weak.append(_ALIAS)
        for one in list(got.values())[:1]:
            index, properties = one["settings"]["index"], one["mappings"]["properties"]
            found |= {
                "shards": int(index["number_of_shards"]),
                "replicas": int(index["number_of_replicas"]),
                "refresh_interval": index.get("refresh_interval", "default"),
                "durability": index.get("translog", {}).get("durability", "request"),
                "tenant_field_exact": not any(faults),
                **flat("similarity", index.get("similarity", {})),
                **flat("mapping", properties),
            }
        return found, tuple(weak)

    async def remove(self) -> None:
        """Remove what this object made; leave what can be resumed."""
        if self.resume and not self.settled:
            return
        for part in names(self.made):
            await self.send("DELETE", f"/{part}", params={"ignore_unavailable": "true"})

    async def take_left(self) -> None:
        """Take for this object's own what another made here; `remove` then removes it."""
        there = await self.send("GET", f"/{self.all}", params={"ignore_unavailable": "true"})
        self.made = sorted(name for name in there if name.split(".")[0] == self.place)
        self.settled = True

    async def make_for(self, tenants: Iterable[TenantId]) -> None:
        """An index, or an alias, for each tenant that has none yet."""
        scopes = {self.scope(tenant).index: tenant for tenant in tenants}
        new = {name: tenant for name, tenant in scopes.items() if name not in self.known}
        if self.isolation == "index":
            for name in sorted(new):
                await self._make(name)
        if self.isolation == "alias" and new:
            actions = [
                {"add": {"index": self.place, "alias": name, "filter": condition}}
                for name, tenant in new.items()
                for condition in tenant_scope(self.place, "filter", tenant).conditions
            ]
            await self.send("POST", "/_aliases", dump({"actions": actions}), timeout=self.timeout)
        self.known |= set(new)

    async def _make(self, name: str) -> None:
        try:
            await self.send("PUT", f"/{name}", dump(self.body), timeout=self.timeout)
            self.made.append(name)
        except BackendError as error:
            if _EXISTS not in str(error):
                raise
            self._take(name, (await self.send("GET", f"/{name}"))[name])

    def _take(self, name: str, shown: Json) -> None:
        found = difference(self.body, shown)
        if found:
            raise Rejected(
                f"{self.backend}: index {name!r} already exists with another schema "
                f"({found}); remove it or choose another place"
            )
        if self.resume and name not in self.made:
            self.made.append(name)

    def _home(self, tenant: TenantId) -> Scope:
        """Where a chunk is written: never through an alias."""
        scope = self.scope(tenant)
        return Scope(self.place, ()) if self.isolation == "alias" else scope


async def remove_left(indices: Indices, close: Callable[[], Awaitable[None]]) -> None:
    """Remove what a run that was killed left, and close the connections, which `close` does."""
    try:
        await indices.take_left()
    finally:
        await close()
