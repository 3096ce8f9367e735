"""Questions: searched, counted, explained; and chunks read by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qdrant_client import models

from retrieverbench.errors import Rejected
from retrieverbench.model import Hit, Plan, Query, Response, TenantId
from retrieverbench_adapters.qdrant.answers import to_hits
from retrieverbench_adapters.qdrant.attached import Attachment
from retrieverbench_adapters.qdrant.client import Server
from retrieverbench_adapters.qdrant.evidence import Observed, make_plan
from retrieverbench_adapters.qdrant.failures import says_missing
from retrieverbench_adapters.qdrant.layouts import Home
from retrieverbench_adapters.qdrant.places import Places
from retrieverbench_adapters.qdrant.requests import (
    Scheme,
    build_request,
    chunks_filter,
    tenant_filter,
)
from retrieverbench_adapters.qdrant.terms import Lexicon

_BM25 = "qdrant/bm25"
_TEXT = frozenset({"text"})


class Reader:
    """Sends reads only. `server_terms`: the server makes the terms of a question."""

    def __init__(
        self,
        server: Server,
        places: Places | Attachment,
        scheme: Scheme,
        lexicon: Lexicon,
        *,
        server_terms: bool = False,
        distances: bool = False,
    ) -> None:
        self._server = server
        self._places = places
        self._scheme = scheme
        self._lexicon = lexicon
        self._server_terms = server_terms
        self._distances = distances

    async def search(self, query: Query) -> Response:
        """One request, whatever the mode, and another if the total is wanted."""
        home = self._places.home(query.tenant)
        counted = "total" in query.want
        try:
            answer = await self._server.ask(home, self._request(query, home))
            total = await self._total(query, home) if counted else None
        except Rejected as error:
            if self._is_nobodys(home, error):
                return Response([], total=0 if counted else None)
            raise
        negated = self._distances and query.mode == "dense"
        hits = to_hits(answer.points, self._scheme.fields, query.want, negated=negated)
        milliseconds = None if answer.seconds is None else answer.seconds * 1000
        return Response(hits, server_ms=milliseconds, total=total)

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        """By a filter of tenant and ids: the routes that take ids alone take no filter."""
        if not uids:
            return []
        fields = self._scheme.fields
        points = await self.owned(tenant, uids, with_payload=fields.payload(text=True))
        found = {hit.uid: hit for hit in to_hits(points, fields, _TEXT)}
        return [found[uid] for uid in uids if uid in found]

    async def owned(
        self, tenant: TenantId, uids: Sequence[str], **what: Any
    ) -> list[models.Record]:
        """The points of the tenant's own among these chunks."""
        home = self._places.home(tenant)
        condition = chunks_filter(self._scheme.fields, tenant, uids)
        what |= {"scroll_filter": condition, "shard_key_selector": home.shard}
        found: list[models.Record] = []
        try:
            async for points in self._server.pages(home.collection, len(uids), **what):
                found += points
        except Rejected as error:
            if not self._is_nobodys(home, error):
                raise
        return found

    async def explain(self, query: Query) -> Plan:
        """From what the server says of its collection, and the search once more, indexed only."""
        home = self._places.home(query.tenant)
        if not self._places.is_known(home):
            return Plan((f"{query.tenant.value!r} has no collection or shard to search",))
        request = self._request(query, home)
        whole = await self._server.ask(home, request)
        indexed = await self._server.ask(home, _indexed_only(request))
        same = {point.id for point in whole.points} & {point.id for point in indexed.points}
        observed = Observed(await self._passing(query, home), len(whole.points), len(same))
        information = await self._server.information(home.collection)
        return make_plan(information, observed, self._scheme, query.mode)

    def _request(self, query: Query, home: Home) -> models.QueryRequest:
        return build_request(query, self._terms(query), self._scheme, home.shard)

    def _terms(self, query: Query) -> models.SparseVector | models.Document | None:
        if query.mode == "dense":
            return None
        if self._server_terms:
            return models.Document(text=query.text, model=_BM25)
        counts = self._lexicon.count_query(query.text)
        return models.SparseVector(
            indices=counts.ids.tolist(), values=[float(n) for n in counts.counts]
        )

    async def _total(self, query: Query, home: Home) -> int:
        """No filter counts the matches of words: they are asked for without their payload."""
        passing = await self._passing(query, home)
        if query.mode != "lexical" or not passing:
            return passing
        request = self._request(query, home)
        request.limit, request.with_payload = passing, False
        return len((await self._server.ask(home, request)).points)

    async def _passing(self, query: Query, home: Home) -> int:
        condition = tenant_filter(self._scheme.fields, query.tenant, query.where)
        counting = self._server.client.count(
            home.collection, condition, exact=True, shard_key_selector=home.shard
        )
        return (await self._server.call(counting)).count

    def _is_nobodys(self, home: Home, error: Rejected) -> bool:
        """A place that never was has no chunks; one that is gone is a fault."""
        return says_missing(error) and not self._places.is_known(home)


def _indexed_only(request: models.QueryRequest) -> models.QueryRequest:
    """The same search, of indexed segments and of those below the indexing threshold."""
    changed = request.model_copy(deep=True)
    prefetches = changed.prefetch if isinstance(changed.prefetch, list) else []
    for params in (changed.params, *(leg.params for leg in prefetches)):
        if params is not None:
            params.indexed_only = True
    return changed
