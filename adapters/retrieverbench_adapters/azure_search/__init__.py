"""Azure AI Search through the official asynchronous client, api-version 2026-04-01.

Layout `filter`: one index holds all tenants, and every search carries the tenant's condition
(`search.tenant_filter`: `eq` or `search.in`). Layout `index`: an index per tenant, named by a
hash of place and tenant; no condition is sent. The service allows twelve new indexes a
minute and, by tier, 3 to 3,000 in all, so that layout is for few tenants; what goes beyond
is Throttled or Rejected with the service's own text.

Lexical search is the service's BM25 over title, newline and text in one field; dense search
is cosine; hybrid is one request with both, fused by the service (reciprocal rank fusion,
constant 60, rank from 0).

Differences from the other backends:
- score: 1 / (2 - cosine) in 1/3..1; BM25 with the factor k1 + 1; the fused sum. Never
  comparable across modes.
- ties: undefined and not stable.
- visibility: eventual (property `eventual_visibility`); `settle` asks until all is there.
- filter: before ranking (`preFilter`, sent explicitly); it removes hits and never changes a
  text score.
- statistics: of all tenants together in layout `filter` (property `shared_idf`), over all
  shards (`global`).
- dense search is approximate unless `search.exact` is true or the index `exhaustiveKnn`.
- at most 1,000 hits in one request; more are refused, not cut.
- `where`: metadata is kept as JSON pairs `["key",value]` in one filterable collection, so
  that equality is exact and typed; as in JSON, 1 is 1.0 and neither is true.
- attached: the user's own index, by field mapping, with a query key or a reader's token as
  well; what such a credential may not read is listed as not checked. `where` needs the fields
  mapped by `attach.metadata`.
- no plan: the service tells none for a query, so `explain` is not claimed and the Validity table
  says "not told".
- by id: reads, deletes and moves find the document by a search under the tenant's condition;
  the service's own look-up by key takes no filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, ClassVar, Self

import anyio
from azure.core.exceptions import ResourceNotFoundError

from retrieverbench.adapter import NOBODY, Description, Settings
from retrieverbench.errors import AdapterError, InputError, Refused, Rejected, Unsupported
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId
from retrieverbench.options import nearest, parse_options
from retrieverbench.remote import LONG, unnamed_fault
from retrieverbench_adapters.azure_search.answers import Answer, only_asked_for, plain, read_hit
from retrieverbench_adapters.azure_search.definition import index_name, tenant_index_name
from retrieverbench_adapters.azure_search.description import (
    properties_of,
    settings_shown,
    weaknesses_of,
)
from retrieverbench_adapters.azure_search.documents import document, key
from retrieverbench_adapters.azure_search.fields import fields_of, mapping_faults, owners_of
from retrieverbench_adapters.azure_search.indexes import Indexes, Row
from retrieverbench_adapters.azure_search.options import Options, faults
from retrieverbench_adapters.azure_search.requests import MAX_HITS, keys_filter, search_arguments

__all__ = ["AzureSearch"]

_UNREAD = "index definition: the credential may not read it, so no field is checked"


class AzureSearch:
    """Indexes of its own or the user's, one connection pool. No tenant of a search is kept."""

    options: ClassVar[type] = Options
    address: ClassVar[str] = "https://NAME.search.windows.net"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "index", "where", "exact"}
        | {"put", "attach", "get", "delete", "move", "total", "record", "resume", "remove"}
    )
    filter_modes: ClassVar[Mapping[str, Mapping[str, Mapping[str, object]]]] = {
        mode: {"search": {"vector_filter_mode": mode}}
        for mode in ("preFilter", "postFilter", "strictPostFilter")
    }

    def __init__(self, settings: Settings, options: Options) -> None:
        self._settings = settings
        self._options = options
        self._fields = fields_of(settings.attached)
        self._indexes = Indexes(settings, options)
        self._shared = settings.layout == "filter"
        self._unchecked: list[str] = []
        self._closed = False

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Make the index, or take one of equal schema; in layout `index` those there are.

        An attached index is asked for nothing but its definition and an empty search. Secrets:
        `api_key`, or with `connect.auth = "entra"` optionally `token`.
        """
        options = parse_options(Options, settings.options, "azure_search: options")
        wrong = faults(settings, options.connect)
        if wrong:
            raise InputError(*wrong)
        adapter = cls(settings, options)
        try:
            await adapter._open()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await adapter.close()
            raise
        return adapter

    @classmethod
    async def remove(cls, settings: Settings) -> None:
        """The index of this name, or those of its tenants."""
        options = parse_options(Options, settings.options, "azure_search: options")
        await Indexes(settings, options).remove_left()

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Upload in batches cut by count and bytes; every item's failure is raised."""
        self._refuse_to_write()
        chunks_of: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            TenantId(chunk.tenant.value)  # raises for what names no tenant
            chunks_of.setdefault(self._index_of(chunk.tenant), []).append(chunk)
        for index, own in chunks_of.items():
            await self._indexes.ensure(index)
            await self._indexes.upload(index, [document(c, self._settings.dimension) for c in own])

    async def settle(self) -> None:
        """Ask until counts are right and the last document written is as it was written."""
        await self._indexes.settle()

    async def search(self, query: Query) -> Response:
        """One request with `top`; everything is read here, for the client itself is lazy."""
        index = self._index_of(query.tenant)
        arguments = search_arguments(query, self._options.search, self._fields, shared=self._shared)
        # In layout `index` a tenant that owns nothing has no index.
        absent = not self._shared and index not in self._indexes
        answer = self._indexes.answer(tolerated=404 if absent else 0)
        hits: list[Hit] = []
        total = None
        with self._indexes.calling("search"):
            results = await self._indexes.clients.documents(index).search(
                **arguments, raw_response_hook=answer
            )
            try:
                async for raw in results:
                    if len(hits) == query.k:
                        raise AdapterError(f"azure_search: search: more than {query.k} hits")
                    hits.append(read_hit(raw, self._fields, want_text="text" in query.want))
                if "total" in query.want:
                    total = await results.get_count()
            except ResourceNotFoundError:
                total = 0 if "total" in query.want else None
        return Response(hits, answer.server_ms, answer.status == 206, total)

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        """The tenant's own among these chunks, in the order asked for."""
        rows = await self._find(tenant, uids)
        hits = [
            read_hit({**row, "@search.score": 1.0}, self._fields, want_text=True) for row in rows
        ]
        found = {hit.uid: hit for hit in hits}
        return [found[uid] for uid in dict.fromkeys(uids) if uid in found]

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        """Delete the tenant's own among these chunks, found by a search under its condition."""
        self._refuse_to_write()
        rows = only_asked_for(await self._find(tenant, uids), tenant, uids)
        if rows:
            await self._indexes.delete(self._index_of(tenant), rows)

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        """Change the tenant's field; in layout `index` copy the document, then delete it."""
        self._refuse_to_write()
        there = self._index_of(target)
        found = await self._find(source, [uid], whole=not self._shared)
        rows = only_asked_for(found, source, [uid])
        if not rows:
            return
        here = self._index_of(source)
        if self._shared:
            await self._indexes.change_owner(here, rows[0], target)
        elif here != there:
            await self._indexes.ensure(there)
            await self._indexes.upload(there, [{**rows[0], "tenant": target.value}])
            await self._indexes.delete(here, rows)

    async def describe(self) -> Description:
        """Every definition as the service shows it, its counts, and what searches send."""
        answer = self._indexes.answer()
        definitions: dict[str, Row] = {}
        chunks: dict[str, int] = {}
        unchecked = list(self._unchecked)
        documents = 0
        for name in await self._names():
            try:
                definitions[name] = await self._indexes.definition(name, answer)
            except Refused:
                if self._settings.attached is None:
                    raise
                unchecked.append(_UNREAD)
            there = await self._indexes.count(name)
            documents += there
            if not self._counts_tenants(definitions.get(name)):
                unchecked.append("chunks per tenant: the tenant field is not known as facetable")
                continue
            counts = await self._indexes.count_tenants(name, self._fields.tenant)
            if self._settings.attached and (ownerless := there - sum(counts.values())) > 0:
                counts[NOBODY] = counts.get(NOBODY, 0) + ownerless
            for tenant, count in counts.items():
                chunks[tenant] = chunks.get(tenant, 0) + count
        limits = await self._service_limits(answer, unchecked)
        settings = settings_shown(self._settings, self._options, self._fields, definitions)
        return Description(
            server="Azure AI Search",
            server_version=f"api-version {self._options.connect.api_version}",
            client="azure-search-documents",
            client_version=version("azure-search-documents"),
            settings={**settings, **limits, "documents": documents},
            chunks=chunks,
            properties=properties_of(self._settings, self._options),
            fidelity=answer.fidelity,
            unchecked=tuple(unchecked),
            weaknesses=tuple(weaknesses_of(self._settings, self._options, settings, answer)),
        )

    async def close(self) -> None:
        """Delete what this object made, and release the connections."""
        if not self._closed:
            self._closed = True
            await self._indexes.close()

    async def _open(self) -> None:
        if self._settings.attached is not None:
            try:
                await self._bind(self._settings.attached.name)
            except Rejected as error:  # nothing but what the suite names was asked for
                known = await self._indexes.names()
                absent = known and self._settings.attached.name not in known
                near = f"; {nearest(self._settings.attached.name, known)}" if absent else ""
                place = "attach.name" if absent else "attach"
                raise InputError(f"azure_search: {place}: {error.reason}{near}") from error
        elif self._shared:
            await self._indexes.ensure(index_name(self._settings.place))
        else:
            for name in await self._indexes.of_tenants():
                await self._indexes.take(name)

    async def _bind(self, name: str) -> None:
        """Check the user's index as far as the credential goes; nothing is written."""
        wrong: list[str] = []
        try:
            shown = await self._indexes.definition(name, self._indexes.answer())
        except Refused:  # a query key or a reader's role; `describe` says what that means
            owners = await self._owners_by_asking(name)
        else:
            wrong = mapping_faults(self._settings, self._fields, shown)
            owners = owners_of(self._fields, shown)
        if wrong:
            raise InputError(*wrong)
        self._fields = replace(self._fields, owners=owners)
        await self._indexes.rows(name, f"{self._fields.tenant} ne null", 0, None)
        await self._look_for_unnamed(name)

    async def _look_for_unnamed(self, name: str) -> None:
        """Raises InputError for documents that have an owner and no id."""
        field, tenant, most = self._fields.id, self._fields.tenant, 100
        empty = f"({field} eq null or {field} eq '') and {tenant} ne null"
        try:
            unnamed = await self._indexes.rows(name, empty, most, [field, tenant])
        except Rejected:  # a field that is not filterable
            self._unchecked.append("documents without an id: the id field is not filterable")
            return
        if unnamed:
            shown = f"counted up to {most}; {tenant!r} of the first is {unnamed[0][tenant]!r}"
            fault = unnamed_fault(field, len(unnamed), "document", shown)
            raise InputError(f"azure_search: {fault}")

    async def _owners_by_asking(self, name: str) -> range | None:
        """The service compares no text with a number."""
        try:
            await self._indexes.rows(name, f"{self._fields.tenant} eq 0", 0, None)
        except Rejected:
            return None
        return LONG

    def _index_of(self, tenant: TenantId) -> str:
        if self._settings.attached is not None:
            return self._settings.attached.name
        place = self._settings.place
        return index_name(place) if self._shared else tenant_index_name(place, tenant)

    async def _names(self) -> list[str]:
        if self._settings.attached is not None:
            return [self._settings.attached.name]
        if self._shared:
            return [index_name(self._settings.place)]
        return await self._indexes.of_tenants()

    def _counts_tenants(self, shown: Row | None) -> bool:
        if self._fields.own:
            return True
        fields = {item["name"]: item for item in (shown or {"fields": []})["fields"]}
        return bool(fields.get(self._fields.tenant, {}).get("facetable"))

    async def _find(
        self, tenant: TenantId, uids: Sequence[str], *, whole: bool = False
    ) -> list[Row]:
        """The tenant's own documents among these, with all fields if `whole`."""
        index = self._index_of(tenant)
        if not self._shared and index not in self._indexes:
            return []
        own = self._fields.own
        field = "key" if own else self._fields.id
        keys = [key(uid) if own else uid for uid in dict.fromkeys(uids)]
        names = [self._fields.id, self._fields.tenant, *self._fields.shown]
        select = None if whole else [*(["key"] if own else []), *names]
        rows: list[dict[str, Any]] = []
        for begin in range(0, len(keys), MAX_HITS):
            part = keys[begin : begin + MAX_HITS]
            condition = keys_filter(tenant, part, self._fields, field)
            rows += await self._indexes.rows(index, condition, len(part), select)
        return rows

    async def _service_limits(self, answer: Answer, unchecked: list[str]) -> dict[str, object]:
        try:
            with self._indexes.calling("describe"):
                statistics = await self._indexes.clients.indexes.get_service_statistics(
                    raw_response_hook=answer
                )
        except Refused:
            unchecked.append("service statistics: the credential may not read them")
            return {}
        limits = plain(statistics).get("limits") or {}
        return {f"limits.{name}": value for name, value in limits.items()}

    def _refuse_to_write(self) -> None:
        if self._settings.attached is not None:
            raise Unsupported(
                f"azure_search: index {self._settings.attached.name!r} is the user's own and is "
                "not written to"
            )
