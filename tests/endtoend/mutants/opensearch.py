"""The opensearch adapter with its tenant condition dropped."""

from typing import Any

from retrieverbench.model import TenantId
from retrieverbench.remote.lucene import requests
from retrieverbench_adapters.opensearch import OpenSearch


def tenant_filter(
    tenant: TenantId, field: str = "tenant", numbers: range | None = None
) -> dict[str, Any]:
    return {"match_all": {}}


requests.tenant_filter = tenant_filter

Leaky = OpenSearch
