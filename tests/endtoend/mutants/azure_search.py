"""The azure_search adapter with its tenant condition dropped."""

from retrieverbench.model import TenantId
from retrieverbench_adapters.azure_search import AzureSearch, requests


def tenant_filter(
    tenant: TenantId, form: str = "eq", field: str = "tenant", owners: range | None = None
) -> str:
    return "tenant ne 'nobody'"


requests.tenant_filter = tenant_filter

Leaky = AzureSearch
