"""The collection: what is asked for, and what the server says is there."""

from __future__ import annotations

from typing import Any

from qdrant_client import models

from retrieverbench.adapter import Settings
from retrieverbench.errors import Rejected
from retrieverbench_adapters.qdrant.options import Place
from retrieverbench_adapters.qdrant.requests import DENSE, SPARSE, TENANT


def check_schema(information: models.CollectionInfo, settings: Settings, options: Place) -> None:
    """Raise Rejected when the collection that exists is not as we would make it."""
    found = _schema(information)
    wanted = {
        "vectors": dense_config(settings),
        "sparse_vectors": sparse_config(settings),
        "m": options.m,
        "ef_construct": options.ef_construct,
        "full_scan_threshold": options.full_scan_threshold,
        "indexing_threshold": options.indexing_threshold,
    }
    wrong = [f"{key} {found[key]!r:.120}" for key in wanted if found[key] != wanted[key]]
    if wrong:
        raise Rejected(
            f"collection {settings.place!r} already exists with another schema: "
            f"{', '.join(wrong)}; delete it or choose another place"
        )
    check_tenant_index(information, settings.place)


def check_tenant_index(information: models.CollectionInfo, place: str) -> None:
    """Raise Rejected unless the tenant field has a keyword index that knows it is one."""
    index = information.payload_schema.get(TENANT)
    tenant = getattr(index.params if index else None, "is_tenant", None)
    if index is None or index.data_type != models.PayloadSchemaType.KEYWORD or not tenant:
        raise Rejected(
            f"collection {place!r}: payload field {TENANT!r} has no keyword index with "
            "is_tenant; delete the collection or choose another place"
        )


def is_settled(information: models.CollectionInfo) -> bool:
    """Green, nothing queued, and no more left unindexed than the threshold allows.

    Green alone does not say it: each segment may stay unindexed up to
    `indexing_threshold` (kB of dense vectors; 0 switches indexing off).
    """
    queued = information.update_queue.length if information.update_queue else 0
    if information.status != models.CollectionStatus.GREEN or queued:
        return False
    schema = _schema(information)
    kinds = len(schema["vectors"]) + len(schema["sparse_vectors"])
    if DENSE not in schema["vectors"] or not schema["indexing_threshold"]:
        return True
    bytes_each: int = 4 * schema["vectors"][DENSE].size
    allowed: float = information.segments_count * schema["indexing_threshold"] * 1024 / bytes_each
    unindexed = _stored(information, kinds) - (information.indexed_vectors_count or 0)
    return unindexed <= kinds * allowed


def dense_config(settings: Settings) -> dict[str, models.VectorParams]:
    """The dense vector, if any mode needs it."""
    if not settings.modes & {"dense", "hybrid"}:
        return {}
    params = models.VectorParams(size=settings.dimension, distance=models.Distance.COSINE)
    return {DENSE: params}


def sparse_config(settings: Settings) -> dict[str, models.SparseVectorParams]:
    """The sparse vector with IDF by the server, if any mode needs it."""
    if not settings.modes & {"lexical", "hybrid"}:
        return {}
    return {SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)}


def hnsw_config(options: Place) -> models.HnswConfigDiff:
    """The graph's parameters."""
    return models.HnswConfigDiff(
        m=options.m,
        ef_construct=options.ef_construct,
        full_scan_threshold=options.full_scan_threshold,
    )


def _schema(information: models.CollectionInfo) -> dict[str, Any]:
    config = information.config
    return {
        "vectors": config.params.vectors or {},
        "sparse_vectors": config.params.sparse_vectors or {},
        "m": config.hnsw_config.m,
        "ef_construct": config.hnsw_config.ef_construct,
        "full_scan_threshold": config.hnsw_config.full_scan_threshold,
        "indexing_threshold": config.optimizer_config.indexing_threshold,
    }


def settings_of(information: models.CollectionInfo) -> dict[str, object]:
    """The server's word on the collection, flat."""
    schema = _schema(information)
    vectors = {
        name: one.model_dump(mode="json", exclude_none=True)
        for name, one in schema.pop("vectors").items()
    }
    sparse = schema.pop("sparse_vectors")
    stored = _stored(information, len(vectors) + len(sparse))
    indexed = information.indexed_vectors_count or 0
    index = information.payload_schema.get(TENANT)
    return {
        **schema,
        "index": "hnsw",
        "distance": vectors[DENSE]["distance"] if DENSE in vectors else None,
        "dimension": vectors[DENSE]["size"] if DENSE in vectors else None,
        "sparse_modifier": sparse[SPARSE].modifier.value if SPARSE in sparse else None,
        "tenant_index": index.data_type.value if index else None,
        "tenant_index_is_tenant": getattr(index.params if index else None, "is_tenant", None),
        "segments": information.segments_count,
        "indexed_share": round(min(indexed / stored, 1.0), 4) if stored else None,
    }


def _stored(information: models.CollectionInfo, kinds: int) -> int:
    return (information.points_count or 0) * kinds
