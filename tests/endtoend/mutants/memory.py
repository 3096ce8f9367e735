"""The memory adapter with its tenant condition dropped, while it searches and not longer."""

from collections.abc import Mapping
from unittest.mock import patch

import numpy as np

from retrieverbench.model import Query, Response, TenantId, Value
from retrieverbench_adapters.memory import Memory, ranking
from retrieverbench_adapters.memory.bm25 import Rows
from retrieverbench_adapters.memory.index import Index


def tenant_rows(index: Index, tenant: TenantId, where: Mapping[str, Value]) -> Rows:
    return np.arange(len(index.chunks), dtype=np.int64)


class Leaky(Memory):
    """Its search waits for nothing, so that no other search runs meanwhile."""

    async def search(self, query: Query) -> Response:
        with patch.object(ranking, "tenant_rows", tenant_rows):
            return await super().search(query)
