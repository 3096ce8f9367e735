"""The azure_search adapter with its tenant condition dropped."""

from retrieverbench.model import TenantId
from retrieverbench_adapters import azure_search


def tenant_filter(tenant: TenantId) -> str:
    return "tenant ne 'nobody'"


azure_search.tenant_filter = tenant_filter

Leaky = azure_search.AzureSearch
