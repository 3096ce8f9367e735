"""The qdrant adapter with one fault each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from qdrant_client import models

from faulty_support import faulty, original
from retrieverbench.model import Query, Response, TenantId, Value
from retrieverbench_adapters.qdrant import Qdrant, reading, requests
from retrieverbench_adapters.qdrant.fields import Fields

build_request: Callable[..., models.QueryRequest] = original(reading, "build_request")
tenant_filter: Callable[..., models.Filter] = original(requests, "tenant_filter")


class Misspelt(models.QueryRequest):
    """Not typed by the client: a body of someone's own making."""

    filters: Any = None


def leg_without_filter(*arguments: Any) -> models.QueryRequest:
    request = build_request(*arguments)
    assert isinstance(request.prefetch, list)
    _dense, lexical = request.prefetch
    lexical.filter = None
    return request


def no_filter(*arguments: Any) -> models.QueryRequest:
    request: models.QueryRequest = build_request(*arguments)
    return request.model_copy(update={"filter": None})


def misspelt_key(*arguments: Any) -> models.QueryRequest:
    request = build_request(*arguments)
    named = {name: getattr(request, name) for name in request.model_fields_set - {"filter"}}
    return Misspelt(**named, filters=request.filter)


def empty_must(*_: Any) -> models.Filter:
    return models.Filter(must=[])


def should(
    fields: Fields, tenant: TenantId, where: Mapping[str, Value] | None = None
) -> models.Filter:
    """The tenant among the user's conditions, of which one is enough."""
    found = tenant_filter(fields, tenant, where)
    return models.Filter(should=found.must)


async def search(self: Any, query: Query) -> Response:
    """The k best of all tenants, and of those the tenant's own."""
    found = await Qdrant.search(self, query)
    own = [hit for hit in found.hits if hit.tenant == query.tenant.value]
    return replace(found, hits=own)


LegWithoutFilter = faulty(Qdrant, {(reading, "build_request"): leg_without_filter})
FilterAfterwards = faulty(Qdrant, {(reading, "build_request"): no_filter}, search=search)
MisspeltKey = faulty(Qdrant, {(reading, "build_request"): misspelt_key})
EmptyFilter = faulty(Qdrant, {(requests, "tenant_filter"): empty_must})
ShouldForMust = faulty(Qdrant, {(requests, "tenant_filter"): should})
