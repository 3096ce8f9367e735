"""Faults that the adapters of both Lucene servers can have."""

from __future__ import annotations

from dataclasses import replace

from retrieverbench.model import Query, TenantId
from retrieverbench.remote.lucene import requests
from retrieverbench.remote.lucene.requests import Json, Scope, TextIndex

words, answer_part, index_body = requests.words, requests.answer_part, requests.index_body


def dropped(query: Query, scope: Scope, text: TextIndex) -> Json:
    """The lexical leg without the tenant's condition."""
    return words(query, replace(scope, conditions=()), text)


def should(query: Query, scope: Scope, text: TextIndex) -> Json:
    """Beside a `must`, what stands in `should` only adds to the score."""
    found = words(query, scope, text)["bool"]
    return {"bool": {"must": found["must"], "should": found["filter"]}}


def none_inside(_query: Query, _scope: Scope, _text: TextIndex) -> list[Json]:
    """The vector search's own filter, left out."""
    return []


def filter_outside(query: Query, size: int, text: TextIndex) -> Json:
    """The tenant's condition, applied to what the search has found."""
    return {**answer_part(query, size, text), "post_filter": requests.tenant_filter(query.tenant)}


def with_words(*arguments: TextIndex | Json | None, shards: int, routed: bool) -> Json:
    """The tenant's field as a server maps a text by itself: analysed, and a keyword beside."""
    body = index_body(*arguments, shards=shards, routed=routed)  # type: ignore[arg-type]
    tenant: Json = {"type": "keyword", "fields": {"words": {"type": "text"}}}
    body["mappings"]["properties"]["tenant"] = tenant
    return body


def word_of_tenant(tenant: TenantId, _field: str = "tenant", _numbers: range | None = None) -> Json:
    """The condition as ever, on the analysed field."""
    return {"term": {"tenant.words": tenant.value}}


def query_string(tenant: TenantId, field: str = "tenant", _numbers: range | None = None) -> Json:
    """The tenant's name, written into a query language."""
    return {"query_string": {"query": f"{field}:({tenant.value})"}}
