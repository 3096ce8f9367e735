"""How Qdrant answers a question, told from its settings, its counts and a second search.

It has no plan to show. What decides is in its source (`hnsw/read_view/dispatch.rs` of
1.19.0): a segment without a graph is scanned; a segment with one is scanned too when the
search is exact or when no more of its points pass the filter than `full_scan_threshold`
holds vectors; else the graph is walked with the filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qdrant_client import models

from retrieverbench.model import Mode, Plan
from retrieverbench_adapters.qdrant.collection import dense_vectors
from retrieverbench_adapters.qdrant.fields import UNNAMED, Fields
from retrieverbench_adapters.qdrant.requests import Scheme

_CAVEAT = "worked out from settings and counts: Qdrant shows no plan"


@dataclass(frozen=True, slots=True)
class Observed:
    """`passing` points pass the filter; of `hits`, `same` come back by `indexed_only`."""

    passing: int
    hits: int
    same: int


def make_plan(
    information: models.CollectionInfo, observed: Observed, scheme: Scheme, mode: Mode
) -> Plan:
    """The plan of one question in one mode."""
    fields, exact = scheme.fields, scheme.search.exact
    lines = _lines(information, observed, fields)
    if mode == "lexical":
        return Plan(lines, vector_index="", filtered="during", caveat=_CAVEAT)
    graph = _uses_graph(information, observed.passing, fields, exact=exact)
    if graph is None:
        return Plan(lines, caveat=f"{_CAVEAT}; some segments may walk the graph, others not")
    name = f"hnsw of {fields.dense or UNNAMED}" if graph else ""
    return Plan(lines, vector_index=name, filtered="during" if graph else "before", caveat=_CAVEAT)


def _uses_graph(
    information: models.CollectionInfo, passing: int, fields: Fields, *, exact: bool
) -> bool | None:
    """None where segments may differ."""
    vector = dense_vectors(information)[fields.dense]
    graph = information.config.hnsw_config.model_dump()
    graph |= vector.hnsw_config.model_dump(exclude_none=True) if vector.hnsw_config else {}
    linked = graph["m"] or graph.get("payload_m")
    if exact or not linked or not information.indexed_vectors_count:
        return False
    threshold = graph["full_scan_threshold"] * 1024 // (4 * vector.size)
    if passing <= threshold:
        return False
    unindexed = (information.indexed_vectors_count or 0) < (information.points_count or 0)
    if unindexed or passing <= threshold * information.segments_count:
        return None
    return True


def _lines(
    information: models.CollectionInfo, observed: Observed, fields: Fields
) -> tuple[str, ...]:
    config = information.config
    index = information.payload_schema.get(fields.tenant)
    return (
        f"status {information.status.value}, segments {information.segments_count}",
        f"points {information.points_count}, indexed vectors {information.indexed_vectors_count}",
        f"hnsw_config {_json(config.hnsw_config)}",
        f"payload_schema.{fields.tenant} {_json(index) if index else 'none'}",
        f"{observed.passing} points pass the filter",
        f"indexed_only: {observed.same} of {observed.hits} hits are the same",
    )


def _json(model: Any) -> str:
    shown: str = model.model_dump_json(exclude_none=True)
    return shown
