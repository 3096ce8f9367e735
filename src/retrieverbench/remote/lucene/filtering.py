"""Where the conditions of a vector search stand: within it, or beside it as a mode to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from retrieverbench.remote.lucene.requests import Json

KnnFilter = Literal["inside", "outside"]

FILTER_MODES: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    f"filter {where} the kNN search": {"search": {"knn_filter": where}}
    for where in ("inside", "outside")
}
"""What the leak audit compares: `outside` loses the chunks of a tenant beside a large one."""


def beside(nearest: Json, conditions: Sequence[Json]) -> Json:
    """A vector search of everybody's chunks, of whose hits those are kept that meet conditions."""
    return {"bool": {"must": [nearest], "filter": list(conditions)}}
