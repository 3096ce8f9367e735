"""Requests, made without I/O: query in, arguments of the client out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from azure.search.documents.models import VectorizedQuery

from retrieverbench.errors import InputError, TenantError, Unsupported
from retrieverbench.model import Chunk, Query, TenantId, Value
from retrieverbench_adapters.azure_search.documents import key, pair
from retrieverbench_adapters.azure_search.options import Search

MAX_HITS = 1000


def tenant_filter(tenant: TenantId) -> str:
    """The only place where a tenant condition is written. Never search.in: it splits values."""
    if not isinstance(tenant, TenantId):
        raise TenantError(f"azure_search: tenant: {tenant!r:.80} is not a checked tenant")
    return f"tenant eq {literal(tenant.value)}"


def query_filter(tenant: TenantId, where: Mapping[str, Value]) -> str:
    """The tenant's condition, and the user's in parentheses of their own, joined by and."""
    condition = tenant_filter(tenant)
    if not where:
        return condition
    users = " and ".join(f"metadata/any(m: m eq {literal(pair(*item))})" for item in where.items())
    return f"({condition}) and ({users})"


def chunk_filter(chunk: Chunk) -> str:
    """The condition that one chunk of its tenant fulfils."""
    return f"({tenant_filter(chunk.tenant)}) and (key eq {literal(key(chunk.uid))})"


def literal(value: str) -> str:
    """An OData string: quotes around, quotes inside doubled, nothing else changed."""
    if type(value) is not str or "\0" in value:
        raise InputError(f"azure_search: {value!r:.80} cannot be written in a filter")
    return "'" + value.replace("'", "''") + "'"


def escape(text: str) -> str:
    """A text as words of the simple syntax: its operators lose their meaning."""
    escaped = re.sub(r"""([+|"()'\\])""", r"\\\1", text)
    escaped = re.sub(r"(?<!\S)-", r"\\-", escaped)
    return re.sub(r"\*(?!\S)", r"\\*", escaped)


def search_arguments(query: Query, options: Search) -> dict[str, Any]:
    """The arguments of the client's `search`, the same filter for every leg."""
    if query.k > MAX_HITS:
        raise Unsupported(f"azure_search: k = {query.k}; the service gives {MAX_HITS} at most")
    arguments: dict[str, Any] = {
        "filter": query_filter(query.tenant, query.where),
        "top": query.k,
        "select": ["uid", "tenant", *(["content", "text"] if "text" in query.want else [])],
        "include_total_count": True if "total" in query.want else None,
        "vector_filter_mode": options.vector_filter_mode,
        "scoring_statistics": options.scoring_statistics,
        "session_id": options.session_id,
    }
    if query.mode != "dense":
        if not query.text.strip():
            raise InputError("azure_search: the query text is empty, which would match everything")
        arguments |= {
            "search_text": query.text if options.raw_syntax else escape(query.text),
            "query_type": "simple",
            "search_mode": options.search_mode,
            "search_fields": ["content"],
        }
    if query.mode != "lexical":
        if query.vector is None:
            raise InputError(f"azure_search: a {query.mode} query without a vector")
        vector = VectorizedQuery(
            vector=list(query.vector),
            k_nearest_neighbors=options.vector_k or max(50, query.k),
            fields="vector",
            exhaustive=options.exact,
            weight=options.vector_weight,
        )
        arguments["vector_queries"] = [vector]
    return arguments
