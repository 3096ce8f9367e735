"""Points between the JSON of requests and answers and the engine's own objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from retrieverbench.engines.qdrant.bodies import Document, PointBody, Sparse, Vector

if TYPE_CHECKING:
    import qdrant_edge as edge


def to_point(body: PointBody) -> edge.Point:
    """A point to be stored."""
    import qdrant_edge as edge

    return edge.Point(body.id, to_vectors(body), dict(body.payload))


def to_vectors(body: PointBody) -> Any:
    """Its vectors: the unnamed one alone, or all by name."""
    named = {name: _to_vector(one) for name, one in body.vectors.items()}
    return named[""] if list(named) == [""] else named


def bm25(options: Mapping[str, Any]) -> edge.Bm25:
    """The engine's own model of that name; the server has the same one."""
    import qdrant_edge as edge

    return edge.Bm25(edge.Bm25Config(**options))


def scored(point: edge.ScoredPoint) -> dict[str, Any]:
    """A row of a search's answer."""
    row: dict[str, Any] = {"id": point.id, "version": point.version, "score": point.score}
    return _with_contents(row, point)


def record(point: edge.Record) -> dict[str, Any]:
    """A row of a read's answer."""
    return _with_contents({"id": point.id}, point)


def _to_vector(vector: Vector) -> Any:
    import qdrant_edge as edge

    if isinstance(vector, Sparse):
        return edge.SparseVector(vector.indices, vector.values)
    if isinstance(vector, Document):
        return bm25(vector.options).embed_document(vector.text)
    return vector


def _with_contents(row: dict[str, Any], point: edge.ScoredPoint | edge.Record) -> dict[str, Any]:
    import qdrant_edge as edge

    if point.payload is not None:
        row["payload"] = point.payload
    if isinstance(point.vector, dict):
        row["vector"] = {
            name: {"indices": one.indices, "values": one.values}
            if isinstance(one, edge.SparseVector)
            else one
            for name, one in point.vector.items()
        }
    elif point.vector is not None:
        row["vector"] = point.vector
    return row
