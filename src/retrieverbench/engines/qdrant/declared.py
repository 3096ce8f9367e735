"""What a client declares of a collection or a payload index, checked and kept.

The engine does not tell its configuration back, so the answers of `GET /collections/{name}`
are made of what was handed to the engine here, defaults included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from retrieverbench.engines.qdrant.bodies import (
    PointBody,
    Refusal,
    Vector,
    invalid,
    malformed,
    take,
    untranslated,
    whole_number,
    wrong,
)

if TYPE_CHECKING:
    import qdrant_edge as edge

_KNOWN = (
    "replication_factor",
    "write_consistency_factor",
    "on_disk_payload",
    "payload",
    "wal_config",
    "strict_mode_config",
    "metadata",
    "init_from",
)
_HNSW = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000, "max_indexing_threads": 0}
_OPTIMIZER = {
    "deleted_threshold": 0.2,
    "vacuum_min_vector_number": 1000,
    "default_segment_number": 0,
    "indexing_threshold": 10000,
}
_DISTANCES = ("Cosine", "Euclid", "Dot", "Manhattan")
_FORBIDDEN_IN_NAMES = '<>:"/\\|?*\0\x1f'


@dataclass(frozen=True, slots=True)
class Declared:
    """A collection as declared. Vectors are keyed by name, "" for the unnamed one."""

    vectors: Mapping[str, Mapping[str, Any]]
    sparse: Mapping[str, Mapping[str, Any]]
    hnsw: Mapping[str, Any]
    optimizer: Mapping[str, Any] = field(default_factory=lambda: dict(_OPTIMIZER))
    quantization: Mapping[str, Any] | None = None
    custom_sharding: bool = False

    def to_json(self) -> dict[str, Any]:
        """The `config` of a collection's information."""
        unnamed = self.vectors.get("")
        params: dict[str, Any] = {
            "vectors": dict(self.vectors) if unnamed is None else unnamed,
            "shard_number": 1,
            "replication_factor": 1,
            "write_consistency_factor": 1,
            "on_disk_payload": True,
        }
        if self.sparse:
            params["sparse_vectors"] = dict(self.sparse)
        if self.custom_sharding:
            params["sharding_method"] = "custom"
        return {
            "params": params,
            "hnsw_config": dict(self.hnsw),
            "optimizer_config": {**self.optimizer, "flush_interval_sec": 5},
            "wal_config": None,
            "quantization_config": self.quantization,
        }

    def fitting(self, points: list[PointBody]) -> list[PointBody]:
        """The points as they are, if all fit; the engine would store those before a wrong one."""
        for point in points:
            for name, vector in point.vectors.items():
                self._fits(name, vector)
        return points

    def _fits(self, name: str, vector: Vector) -> None:
        if name not in self.vectors and name not in self.sparse:
            raise wrong(f"Not existing vector name error: {name}")
        if isinstance(vector, list) != (name in self.vectors):
            raise wrong("Conversion between sparse and regular vectors failed")
        if not isinstance(vector, list):
            return
        size = self.vectors[name]["size"]
        if len(vector) != size:
            raise wrong(f"Vector dimension error: expected dim: {size}, got {len(vector)}")

    def to_edge(self) -> edge.EdgeConfig:
        """The same for the engine."""
        import qdrant_edge as edge

        dense = {
            name: edge.EdgeVectorParams(
                size=one["size"], distance=getattr(edge.Distance, one["distance"])
            )
            for name, one in self.vectors.items()
        }
        sparse = {
            name: edge.EdgeSparseVectorParams(
                modifier=edge.Modifier.Idf if one.get("modifier") == "idf" else None
            )
            for name, one in self.sparse.items()
        }
        return edge.EdgeConfig(
            vectors=dense,
            sparse_vectors=sparse,
            hnsw_config=edge.HnswIndexConfig(**self.hnsw),
            optimizers=edge.EdgeOptimizersConfig(**self.optimizer),
            quantization_config=_to_edge_quantization(self.quantization),
        )


def check_name(name: str) -> None:
    """422 for a name that the server would refuse as a folder's name."""
    for character in _FORBIDDEN_IN_NAMES:
        if character in name:
            raise Refusal(
                422,
                "Validation error in path parameters: "
                f'[name: collection name cannot contain "{character}" char]',
            )
    if len(name) > 255:
        raise Refusal(
            422, "Validation error in path parameters: [name: must be from 1 to 255 characters]"
        )


def to_declared(body: Any, *, strict: bool) -> Declared:
    """A checked `PUT /collections/{name}`."""
    fields = take(
        body,
        "CreateCollection",
        (
            *("vectors", "sparse_vectors", "hnsw_config", "optimizers_config"),
            *("quantization_config", "sharding_method", "shard_number"),
        ),
        _KNOWN,
        strict=strict,
    )
    if fields.get("sharding_method", "auto") not in {"auto", "custom"}:
        raise malformed("unknown variant, expected `auto` or `custom`")
    if whole_number(fields.get("shard_number", 1), "shard_number", 1) != 1:
        raise untranslated("CreateCollection.shard_number other than 1")
    raw = fields.get("vectors", {})
    if not isinstance(raw, dict):
        raise _no_vectors_config()
    named = {"": raw} if "size" in raw or "distance" in raw else raw
    declared = Declared(
        {name: _vector(one, strict=strict) for name, one in named.items()},
        {
            name: _sparse(one, strict=strict)
            for name, one in fields.get("sparse_vectors", {}).items()
        },
        _with_defaults(fields.get("hnsw_config", {}), _HNSW, "hnsw_config", strict=strict),
        _with_defaults(
            fields.get("optimizers_config", {}), _OPTIMIZER, "optimizers_config", strict=strict
        ),
        _quantization(fields.get("quantization_config"), strict=strict),
        custom_sharding=fields.get("sharding_method") == "custom",
    )
    if not declared.vectors and not declared.sparse:
        raise untranslated("CreateCollection without vectors")
    return declared


def _no_vectors_config() -> Refusal:
    return malformed("data did not match any variant of untagged enum VectorsConfig")


def _vector(body: Any, *, strict: bool) -> dict[str, Any]:
    known = ("hnsw_config", "quantization_config", "on_disk", "memory", "datatype")
    fields = take(
        body, "VectorParams", ("size", "distance"), (*known, "multivector_config"), strict=strict
    )
    size = fields.get("size")
    if type(size) is not int or size < 1 or fields.get("distance") not in _DISTANCES:
        raise _no_vectors_config()
    if size > 65536:
        raise invalid("vectors.size", f"value {size} invalid, must be from 1 to 65536")
    return fields


def _sparse(body: Any, *, strict: bool) -> dict[str, Any]:
    fields = take(body, "SparseVectorParams", ("modifier",), ("index",), strict=strict)
    modifier = fields.get("modifier", "none")
    if modifier not in {"none", "idf"}:
        raise malformed(f"unknown variant `{modifier}`, expected `none` or `idf`")
    return fields


_QUANTIZATIONS: Mapping[str, tuple[str, ...]] = {
    "scalar": ("type", "quantile", "always_ram"),
    "binary": ("always_ram",),
}


def _quantization(body: Any, *, strict: bool) -> dict[str, Any] | None:
    if body is None:
        return None
    refused = malformed("data did not match any variant of untagged enum QuantizationConfig")
    if not isinstance(body, dict) or len(body) != 1:
        raise refused
    (kind, raw), *_ = body.items()
    if kind in {"product", "turbo"}:
        raise untranslated(f"quantization_config.{kind}")
    if kind not in _QUANTIZATIONS:
        raise refused
    known = ("encoding", "query_encoding", "memory")
    fields = take(raw, "QuantizationConfig", _QUANTIZATIONS[kind], known, strict=strict)
    if kind == "scalar" and fields.get("type") != "int8":
        raise refused
    return {kind: fields}


def _to_edge_quantization(declared: Mapping[str, Any] | None) -> Any:
    import qdrant_edge as edge

    if declared is None:
        return None
    if "binary" in declared:
        return edge.BinaryQuantizationConfig(**declared["binary"])
    fields = {key: value for key, value in declared["scalar"].items() if key != "type"}
    return edge.ScalarQuantizationConfig(edge.ScalarType.Int8, **fields)


def _with_defaults(
    body: Any, defaults: Mapping[str, Any], what: str, *, strict: bool
) -> dict[str, Any]:
    known = ("on_disk", "memory", "inline_storage", "max_segment_size")
    more = ("payload_m",) if what == "hnsw_config" else ()
    fields = take(body, what, (*defaults, *more), known, strict=strict)
    for key, value in fields.items():
        least = 4 if key == "ef_construct" else 0
        if key != "deleted_threshold":
            whole_number(value, f"{what}.{key}", least)
    return {**defaults, **fields}


def to_index(body: Any, *, strict: bool) -> tuple[str, dict[str, Any]]:
    """A checked `PUT /collections/{name}/index`: the field and its schema as an object."""
    fields = take(
        body, "CreateFieldIndex", ("field_name", "field_schema"), ("field_type",), strict=strict
    )
    name, schema = fields.get("field_name"), fields.get("field_schema")
    if type(name) is not str:
        raise malformed("missing field `field_name`")
    if not name:
        raise malformed("Invalid json path: ''")
    if schema is None:
        raise Refusal(
            400,
            "Bad request: Can't auto-detect field type, please specify `field_schema` in the "
            "request",
        )
    if isinstance(schema, str):
        schema = {"type": schema}
    if not isinstance(schema, dict) or schema.get("type") not in {*_INDEXES, *_INDEXES_KNOWN}:
        raise malformed("data did not match any variant of untagged enum PayloadFieldSchema")
    if schema["type"] in _INDEXES_KNOWN:
        raise untranslated(f"index of type {schema['type']}")
    parameters = ("is_tenant",) if schema["type"] == "keyword" else ()
    return name, take(
        schema,
        "PayloadSchemaParams",
        ("type", *parameters),
        ("on_disk", "memory", "enable_hnsw", "prefix", "nested", "lookup", "range", "is_principal"),
        strict=strict,
    )


_INDEXES = ("keyword", "integer", "float")
_INDEXES_KNOWN = ("geo", "text", "bool", "datetime", "uuid")


def to_edge_index(schema: Mapping[str, Any]) -> Any:
    """The engine's object for a schema of `to_index`."""
    import qdrant_edge as edge

    if schema["type"] == "keyword":
        return edge.KeywordIndexParams(is_tenant=schema.get("is_tenant"))
    if schema["type"] == "integer":
        return edge.IntegerIndexParams()
    return edge.FloatIndexParams()
