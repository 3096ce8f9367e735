"""The qdrant adapter with its tenant condition dropped: a filter that every point passes."""

from collections.abc import Mapping

from qdrant_client import models

from retrieverbench.model import TenantId, Value
from retrieverbench_adapters.qdrant import Qdrant, requests
from retrieverbench_adapters.qdrant.fields import Fields


def tenant_filter(
    fields: Fields, tenant: TenantId, where: Mapping[str, Value] | None = None
) -> models.Filter:
    nobody = models.FieldCondition(key="tenant", match=models.MatchValue(value="nobody"))
    return models.Filter(must_not=[nobody])


requests.tenant_filter = tenant_filter

Leaky = Qdrant
