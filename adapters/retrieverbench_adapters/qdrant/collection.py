"""The collection: what is asked for, and what the server says is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qdrant_client import models

from retrieverbench.adapter import Settings
from retrieverbench.errors import Rejected
from retrieverbench_adapters.qdrant.fields import OWN, WHERE, Fields
from retrieverbench_adapters.qdrant.options import Place

Information = Sequence[models.CollectionInfo]


def check_schema(
    information: models.CollectionInfo, name: str, settings: Settings, options: Place
) -> None:
    """Raise Rejected when the collection that exists is not as we would make it."""
    found = _schema(information)
    wanted = {
        "vectors": dense_config(settings),
        "sparse_vectors": sparse_config(settings),
        "sharding": "custom" if settings.layout == "partition" else "auto",
        "m": options.m,
        "payload_m": options.payload_m,
        "ef_construct": options.ef_construct,
        "full_scan_threshold": options.full_scan_threshold,
        "indexing_threshold": options.indexing_threshold,
        "quantization": options.quantization,
    }
    wrong = [f"{key} {found[key]!r:.120}" for key in wanted if found[key] != wanted[key]]
    if wrong:
        raise Rejected(
            f"collection {name!r} already exists with another schema: "
            f"{', '.join(wrong)}; delete it or choose another place"
        )


def check_tenant_index(information: models.CollectionInfo, place: str) -> None:
    """Raise Rejected unless the tenant field has a keyword index that knows it is one."""
    index = information.payload_schema.get(OWN.tenant)
    tenant = getattr(index.params if index else None, "is_tenant", None)
    if index is None or index.data_type != models.PayloadSchemaType.KEYWORD or not tenant:
        raise Rejected(
            f"collection {place!r}: payload field {OWN.tenant!r} has no keyword index with "
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
    if OWN.dense not in schema["vectors"] or not schema["indexing_threshold"]:
        return True
    bytes_each: int = 4 * schema["vectors"][OWN.dense].size
    allowed: float = information.segments_count * schema["indexing_threshold"] * 1024 / bytes_each
    unindexed = _stored(information, kinds) - (information.indexed_vectors_count or 0)
    return unindexed <= kinds * allowed


def dense_config(settings: Settings) -> dict[str, models.VectorParams]:
    """The dense vector, if any mode needs it."""
    if not settings.modes & {"dense", "hybrid"}:
        return {}
    params = models.VectorParams(size=settings.dimension, distance=models.Distance.COSINE)
    return {OWN.dense: params}


def sparse_config(settings: Settings) -> dict[str, models.SparseVectorParams]:
    """The sparse vector with IDF by the server, if any mode needs it."""
    if not settings.modes & {"lexical", "hybrid"}:
        return {}
    return {OWN.sparse: models.SparseVectorParams(modifier=models.Modifier.IDF)}


def creation(settings: Settings, options: Place) -> dict[str, Any]:
    """Everything that a collection of ours is made with, as the client's method takes it."""
    custom = settings.layout == "partition"
    return {
        "vectors_config": dense_config(settings),
        "sparse_vectors_config": sparse_config(settings),
        "hnsw_config": models.HnswConfigDiff(
            m=options.m,
            payload_m=options.payload_m,
            ef_construct=options.ef_construct,
            full_scan_threshold=options.full_scan_threshold,
        ),
        "optimizers_config": models.OptimizersConfigDiff(
            indexing_threshold=options.indexing_threshold
        ),
        "quantization_config": _quantization_config(options),
        "sharding_method": models.ShardingMethod.CUSTOM if custom else None,
    }


def payload_indexes() -> dict[str, models.KeywordIndexParams]:
    """Of the tenant, told to be one, and of the tokens of user conditions."""
    keyword = models.KeywordIndexType.KEYWORD
    return {
        OWN.tenant: models.KeywordIndexParams(type=keyword, is_tenant=True),
        WHERE: models.KeywordIndexParams(type=keyword),
    }


def dense_vectors(information: models.CollectionInfo) -> dict[str, models.VectorParams]:
    """By name; the one without a name is ""."""
    vectors = information.config.params.vectors or {}
    return {"": vectors} if isinstance(vectors, models.VectorParams) else dict(vectors)


def settings_of(all_information: Information, fields: Fields) -> dict[str, object]:
    """The server's word on its collections, flat: settings of the first, counts of all."""
    if not all_information:
        return {"index": "hnsw", "collections": 0}
    first = all_information[0]
    schema = _schema(first)
    dense = dense_vectors(first).get(fields.dense)
    sparse = schema["sparse_vectors"].get(fields.sparse)
    plain = {key: schema[key] for key in schema if key not in {"vectors", "sparse_vectors"}}
    kinds = len(dense_vectors(first)) + len(schema["sparse_vectors"])
    stored = sum(one.points_count or 0 for one in all_information) * kinds
    indexed = sum(one.indexed_vectors_count or 0 for one in all_information)
    index = first.payload_schema.get(fields.tenant)
    return {
        **plain,
        "index": "hnsw",
        "collections": len(all_information),
        "distance": dense.distance.value if dense else None,
        "dimension": dense.size if dense else None,
        "sparse_modifier": sparse.modifier.value if sparse and sparse.modifier else None,
        "tenant_index": index.data_type.value if index else None,
        "tenant_index_is_tenant": getattr(index.params if index else None, "is_tenant", None),
        "shards": first.config.params.shard_number,
        "segments": sum(one.segments_count for one in all_information),
        "indexed_share": round(min(indexed / stored, 1.0), 4) if stored else None,
    }


def _quantization_config(options: Place) -> models.QuantizationConfig | None:
    if options.quantization == "scalar":
        return models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        )
    if options.quantization == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _schema(information: models.CollectionInfo) -> dict[str, Any]:
    config = information.config
    quantization = config.quantization_config
    kinds = {} if quantization is None else quantization.model_dump(exclude_none=True)
    method = config.params.sharding_method
    return {
        "vectors": config.params.vectors or {},
        "sparse_vectors": config.params.sparse_vectors or {},
        "sharding": "auto" if method is None else method.value,
        "m": config.hnsw_config.m,
        "payload_m": config.hnsw_config.payload_m,
        "ef_construct": config.hnsw_config.ef_construct,
        "full_scan_threshold": config.hnsw_config.full_scan_threshold,
        "indexing_threshold": config.optimizer_config.indexing_threshold,
        "quantization": next(iter(kinds), "none"),
    }


def _stored(information: models.CollectionInfo, kinds: int) -> int:
    return (information.points_count or 0) * kinds
