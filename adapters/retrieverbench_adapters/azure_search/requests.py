"""Requests, made without I/O: query in, arguments of the client out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from azure.search.documents.models import VectorizedQuery

from retrieverbench.errors import InputError, Unsupported
from retrieverbench.model import Query, TenantId, Value
from retrieverbench.remote import whole_number
from retrieverbench_adapters.azure_search.documents import pair
from retrieverbench_adapters.azure_search.fields import OWN, Fields, tenant_text
from retrieverbench_adapters.azure_search.options import Search, TenantFilter

MAX_HITS = 1000
_DELIMITERS = ("|", "\x1f", *map(chr, range(0xE000, 0xE100)))


def tenant_filter(
    tenant: TenantId, form: TenantFilter = "eq", field: str = "tenant", owners: range | None = None
) -> str:
    """The only place where a tenant condition is written.

    `owners` are the whole numbers that the field can hold, None where it holds texts; numbers
    are compared by `eq` in either form, and what is none of them by nothing: `false`.
    """
    value = tenant_text(tenant)
    if owners is not None:
        number = whole_number(value, owners)
        return "false" if number is None else f"{field} eq {number}"
    if form == "eq":
        return f"{field} eq {literal(value)}"
    return one_of(field, [value])


def one_of(field: str, values: Sequence[str]) -> str:
    """A search.in whose delimiter stands in no value: blank and comma, the default ones, may.

    Where every delimiter stands in some value, equalities joined by or; for no value `false`.
    """
    delimiter = next((sign for sign in _DELIMITERS if not any(sign in v for v in values)), None)
    if not values:
        return "false"
    if delimiter is None:
        return " or ".join(f"{field} eq {literal(value)}" for value in values)
    return f"search.in({field}, {literal(delimiter.join(values))}, {literal(delimiter)})"


def query_filter(
    tenant: TenantId,
    where: Mapping[str, Value],
    form: TenantFilter | None = "eq",
    fields: Fields = OWN,
) -> str | None:
    """The tenant's condition, and the user's in parentheses of their own, joined by and.

    `form` is None where the index holds this tenant only; then there may be no condition.
    """
    users = " and ".join(_equality(name, value, fields) for name, value in where.items())
    if form is None:
        return users or None
    condition = tenant_filter(tenant, form, fields.tenant, fields.owners)
    return f"({condition}) and ({users})" if users else condition


def keys_filter(
    tenant: TenantId, keys: Sequence[str], fields: Fields = OWN, field: str = "key"
) -> str:
    """The condition that the tenant's own among these documents fulfil."""
    condition = tenant_filter(tenant, "eq", fields.tenant, fields.owners)
    return f"({condition}) and ({one_of(field, keys)})"


def _equality(name: str, value: Value, fields: Fields) -> str:
    if fields.metadata is None:
        return f"metadata/any(m: m eq {literal(pair(name, value))})"
    if name not in fields.metadata:
        raise InputError(
            f"azure_search: where: {name!r} is mapped to no field; name one in attach.metadata"
        )
    if isinstance(value, bool):
        written = "true" if value else "false"
    else:
        written = literal(value) if isinstance(value, str) else repr(value)
    return f"{fields.metadata[name]} eq {written}"


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


def search_arguments(
    query: Query, options: Search, fields: Fields = OWN, *, shared: bool = True
) -> dict[str, Any]:
    """The arguments of the client's `search`, the same filter for every leg.

    `shared` is whether other tenants' chunks lie in the same index.
    """
    if query.k > MAX_HITS:
        raise Unsupported(f"azure_search: k = {query.k}; the service gives {MAX_HITS} at most")
    arguments: dict[str, Any] = {
        "filter": query_filter(
            query.tenant, query.where, options.tenant_filter if shared else None, fields
        ),
        "top": query.k,
        "select": [fields.id, fields.tenant, *(fields.shown if "text" in query.want else [])],
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
            "search_fields": list(fields.text),
        }
    if query.mode != "lexical":
        if query.vector is None:
            raise InputError(f"azure_search: a {query.mode} query without a vector")
        vector = VectorizedQuery(
            vector=list(query.vector),
            k_nearest_neighbors=options.vector_k or max(50, query.k),
            fields=fields.vector,
            exhaustive=options.exact,
            weight=options.vector_weight,
        )
        arguments["vector_queries"] = [vector]
    return arguments
