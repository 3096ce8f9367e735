"""What a server might say of a collection, without a server."""

from __future__ import annotations

from typing import Any

from qdrant_client import models

_COUNTS = {"points_count": 10_000, "indexed_vectors_count": 10_000, "segments_count": 2}
_OPTIMIZER = {
    "deleted_threshold": 0.2,
    "vacuum_min_vector_number": 1000,
    "default_segment_number": 0,
    "flush_interval_sec": 5,
}


def information(
    *,
    vector: dict[str, Any] | None = None,
    counts: dict[str, int] | None = None,
    params: dict[str, Any] | None = None,
    indexes: dict[str, Any] | None = None,
    strict: dict[str, Any] | None = None,
    **graph: Any,
) -> models.CollectionInfo:
    """10,000 indexed points of 64 dimensions in two segments, unless told otherwise."""
    dense = {"size": 64, "distance": "Cosine", **(vector or {})}
    config = {
        "params": {"vectors": {"dense": dense}, **(params or {})},
        "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 25, **graph},
        "optimizer_config": _OPTIMIZER,
        "strict_mode_config": strict,
    }
    return models.CollectionInfo.model_validate(
        {
            "status": "green",
            "optimizer_status": "ok",
            "payload_schema": indexes or {},
            "config": config,
            **_COUNTS,
            **(counts or {}),
        }
    )
