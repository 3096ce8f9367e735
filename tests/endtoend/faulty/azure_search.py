"""The azure_search adapter with one fault each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import retrieverbench_adapters.azure_search as package
from faulty_support import faulty, original
from retrieverbench.model import TenantId, Value
from retrieverbench_adapters.azure_search import AzureSearch, requests
from retrieverbench_adapters.azure_search.fields import OWN, Fields

search_arguments = original(package, "search_arguments")
literal = original(requests, "literal")


def default_delimiters(
    tenant: TenantId, _form: str = "eq", field: str = "tenant", _owners: range | None = None
) -> str:
    """Blanks and commas part the names then."""
    return f"search.in({field}, {literal(tenant.value)})"


def unescaped(value: str) -> str:
    return f"'{value}'"


def filter_afterwards(*arguments: Any, **more: Any) -> dict[str, Any]:
    """As an old index has it by default."""
    return {**search_arguments(*arguments, **more), "vector_filter_mode": "postFilter"}


def or_between(
    tenant: TenantId, where: Mapping[str, Value], form: Any = "eq", fields: Fields = OWN
) -> str:
    """A user's own `or`, behind the tenant's condition and without parentheses."""
    users = [requests._equality(name, value, fields) for name, value in where.items()]
    return " or ".join([requests.tenant_filter(tenant, form, fields.tenant), *users])


DefaultDelimiters = faulty(AzureSearch, {(requests, "tenant_filter"): default_delimiters})
WrittenLiteral = faulty(AzureSearch, {(requests, "literal"): unescaped})
FilterAfterwards = faulty(AzureSearch, {(package, "search_arguments"): filter_afterwards})
OrBetween = faulty(AzureSearch, {(requests, "query_filter"): or_between})
