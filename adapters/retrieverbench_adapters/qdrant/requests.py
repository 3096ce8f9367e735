"""Bodies of questions, made without I/O: query in, request out."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qdrant_client import models

from retrieverbench.errors import InputError
from retrieverbench.model import Query, TenantId, Value
from retrieverbench.remote import metadata_term
from retrieverbench_adapters.qdrant.fields import (
    POINT_ID,
    WHERE,
    Fields,
    point_id,
    tenant_value,
)
from retrieverbench_adapters.qdrant.options import Search

_EXACT_INTEGERS = 2**53


@dataclass(frozen=True, slots=True)
class Scheme:
    """How questions are asked: of which fields, with which settings.

    `idf_corpus`: IDF over the tenant's chunks, whatever the user's conditions.
    """

    fields: Fields
    search: Search
    idf_corpus: bool


def tenant_filter(
    fields: Fields, tenant: TenantId, where: Mapping[str, Value] | None = None
) -> models.Filter:
    """The condition that every request and every prefetch carries; no other code makes one.

    The user's conditions stand in a filter of their own beside the tenant's `must`.
    """
    match = models.MatchValue(value=tenant_value(tenant, fields))
    own = models.FieldCondition(key=fields.tenant, match=match)
    if not where:
        return models.Filter(must=[own])
    user: list[models.Condition] = [
        _user_condition(fields, key, value) for key, value in where.items()
    ]
    return models.Filter(must=[own, models.Filter(must=user)])


def chunks_filter(fields: Fields, tenant: TenantId, uids: Sequence[str]) -> models.Filter:
    """Those of the chunks that the tenant owns."""
    own = tenant_filter(fields, tenant)
    assert isinstance(own.must, list)
    return models.Filter(must=[*own.must, _named(fields, uids)])


def build_request(
    query: Query,
    lexical: models.SparseVector | models.Document | None,
    scheme: Scheme,
    shard: str | None = None,
) -> models.QueryRequest:
    """The body of one search; `lexical` are the question's terms, None in dense mode."""
    fields = scheme.fields
    own = tenant_filter(fields, query.tenant, query.where)
    common: dict[str, Any] = {
        "limit": query.k,
        "filter": own,
        "with_payload": fields.payload(text="text" in query.want),
        "shard_key": shard,
    }
    if query.mode == "dense":
        return models.QueryRequest(**_dense_leg(query, scheme), **common)
    if query.mode == "lexical":
        return models.QueryRequest(**_sparse_leg(query, lexical, scheme), **common)
    depth = max(query.k, scheme.search.prefetch)
    legs = (_dense_leg(query, scheme), _sparse_leg(query, lexical, scheme))
    return models.QueryRequest(
        prefetch=[models.Prefetch(**leg, filter=own, limit=depth) for leg in legs],
        query=_fusion(scheme.search),
        **common,
    )


def _fusion(search: Search) -> models.RrfQuery | models.FusionQuery:
    """The server's ranks begin at 0: its k is one more than the constant everyone means."""
    if search.fusion == "dbsf":
        return models.FusionQuery(fusion=models.Fusion.DBSF)
    weights = None if search.weights is None else list(search.weights)
    return models.RrfQuery(rrf=models.Rrf(k=search.rank_constant + 1, weights=weights))


def _dense_leg(query: Query, scheme: Scheme) -> dict[str, Any]:
    if query.vector is None:
        raise InputError(f"query {query.text!r:.80}: vector: missing; mode {query.mode} needs one")
    search = scheme.search
    return {
        "query": query.vector.tolist(),
        "using": scheme.fields.dense or None,
        "params": models.SearchParams(
            hnsw_ef=search.hnsw_ef, exact=search.exact, quantization=_quantization(search)
        ),
    }


def _quantization(search: Search) -> models.QuantizationSearchParams | None:
    if search.rescore is None and search.oversampling is None and not search.ignore_quantization:
        return None
    return models.QuantizationSearchParams(
        ignore=search.ignore_quantization,
        rescore=search.rescore,
        oversampling=search.oversampling,
    )


def _sparse_leg(
    query: Query, lexical: models.SparseVector | models.Document | None, scheme: Scheme
) -> dict[str, Any]:
    corpus = None
    if scheme.idf_corpus:
        corpus = models.IdfCorpusParams(corpus=tenant_filter(scheme.fields, query.tenant))
    return {
        "query": lexical,
        "using": scheme.fields.sparse,
        "params": models.SearchParams(idf=corpus),
    }


def _user_condition(fields: Fields, key: str, value: Value) -> models.FieldCondition:
    if fields.where is None:
        token = models.MatchValue(value=metadata_term(key, value))
        return models.FieldCondition(key=WHERE, match=token)
    field = fields.where.get(key)
    if field is None:
        raise InputError(
            f"where: {key!r:.80} is mapped to no field of the attached collection; "
            f"add it to attach.metadata"
        )
    if isinstance(value, float) or (type(value) is int and abs(value) <= _EXACT_INTEGERS):
        number = float(value)  # a range: to Qdrant's `match` 1 and 1.0 are two values
        return models.FieldCondition(key=field, range=models.Range(gte=number, lte=number))
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def _named(fields: Fields, uids: Sequence[str]) -> models.Condition:
    if fields.where is None:
        return models.HasIdCondition(has_id=[point_id(uid) for uid in uids])
    if fields.uid == POINT_ID:
        return models.HasIdCondition(has_id=[one for uid in uids for one in _point_ids(uid)])
    if fields.numbered:
        numbers = [int(uid) for uid in uids if uid.isascii() and uid.isdigit()]
        return models.FieldCondition(key=fields.uid, match=models.MatchAny(any=numbers))
    return models.FieldCondition(key=fields.uid, match=models.MatchAny(any=list(uids)))


def _point_ids(uid: str) -> list[int | str]:
    """The point's id of that text; empty when no point can have it."""
    if uid.isascii() and uid.isdigit():
        return [int(uid)] if int(uid) < 2**64 else []
    with contextlib.suppress(ValueError):
        return [str(uuid.UUID(uid))]
    return []
