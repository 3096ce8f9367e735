"""What the adapter sends: every leg carries the tenant, whatever the question."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from qdrant_client import models

from retrieverbench.errors import InputError, TenantError
from retrieverbench.model import MODES, Mode, Query, TenantId
from retrieverbench_adapters.qdrant.fields import OWN as OWN_FIELDS
from retrieverbench_adapters.qdrant.fields import POINT_ID, Fields, point_id
from retrieverbench_adapters.qdrant.options import Search
from retrieverbench_adapters.qdrant.requests import (
    Scheme,
    build_request,
    chunks_filter,
    tenant_filter,
)

ACME = TenantId("acme")
OWN = {"must": [{"key": "tenant", "match": {"value": "acme"}}]}
TERMS = models.SparseVector(indices=[7, 9], values=[2.0, 1.0])
ATTACHED = Fields("pk", "meta.owner", ("body",), "", "bm25", {"lang": "meta.lang"})

texts = st.text(st.characters(codec="utf-8"))
values = st.one_of(st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False), texts)


def question(mode: Mode, tenant: TenantId = ACME, **more: Any) -> Query:
    return Query("words", tenant, 10, mode, array("f", [0.5, 0.25]), **more)


def sent(
    query: Query,
    search: Search | None = None,
    *,
    idf_corpus: bool = True,
    fields: Fields = OWN_FIELDS,
    shard: str | None = None,
) -> dict[str, Any]:
    scheme = Scheme(fields, search or Search(), idf_corpus)
    return shown(build_request(query, TERMS, scheme, shard))


def shown(model: BaseModel) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(model.model_dump_json(exclude_none=True))
    return body


def legs(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield body
    for inner in body.get("prefetch", []):
        yield from legs(inner)


def unchecked(value: Any) -> TenantId:
    """A TenantId that the guard has not seen."""
    tenant = object.__new__(TenantId)
    object.__setattr__(tenant, "value", value)
    return tenant


def test_a_dense_request() -> None:
    assert sent(question("dense"), Search(hnsw_ef=64)) == {
        "query": [0.5, 0.25],
        "using": "dense",
        "filter": OWN,
        "params": {"hnsw_ef": 64, "exact": False, "indexed_only": False},
        "limit": 10,
        "with_payload": ["uid", "tenant"],
    }


def test_a_lexical_request() -> None:
    assert sent(question("lexical")) == {
        "query": {"indices": [7, 9], "values": [2.0, 1.0]},
        "using": "lexical",
        "filter": OWN,
        "params": {"exact": False, "indexed_only": False, "idf": {"corpus": OWN}},
        "limit": 10,
        "with_payload": ["uid", "tenant"],
    }


def test_a_hybrid_request() -> None:
    search = Search(exact=True, rank_constant=60, prefetch=50)
    assert sent(question("hybrid"), search) == {
        "prefetch": [
            {
                "query": [0.5, 0.25],
                "using": "dense",
                "filter": OWN,
                "params": {"exact": True, "indexed_only": False},
                "limit": 50,
            },
            {
                "query": {"indices": [7, 9], "values": [2.0, 1.0]},
                "using": "lexical",
                "filter": OWN,
                "params": {"exact": False, "indexed_only": False, "idf": {"corpus": OWN}},
                "limit": 50,
            },
        ],
        "query": {"rrf": {"k": 61}},
        "filter": OWN,
        "limit": 10,
        "with_payload": ["uid", "tenant"],
    }


def test_a_prefetch_is_never_shorter_than_the_answer() -> None:
    body = sent(Query("w", ACME, 300, "hybrid", array("f", [1.0])), Search(prefetch=50))
    assert [leg["limit"] for leg in body["prefetch"]] == [300, 300]


def test_older_servers_get_no_idf_corpus() -> None:
    for leg in legs(sent(question("hybrid"), idf_corpus=False)):
        assert "idf" not in leg.get("params", {})


def test_text_is_asked_for_when_wanted() -> None:
    body = sent(question("dense", want=frozenset({"text"})))
    assert body["with_payload"] == ["uid", "tenant", "text"]


def test_a_vector_is_needed() -> None:
    with pytest.raises(InputError, match="vector: missing"):
        sent(Query("words", ACME, 10, "hybrid"))


@given(tenant=texts.filter(bool), where=st.dictionaries(texts, values), mode=st.sampled_from(MODES))
def test_every_leg_demands_the_very_tenant(
    tenant: str, where: dict[str, str | float | bool], mode: Mode
) -> None:
    own = {"key": "tenant", "match": {"value": tenant}}
    body = sent(question(mode, unchecked(tenant), where=where))
    for leg in legs(body):
        assert leg["filter"].keys() == {"must"}
        assert leg["filter"]["must"][0] == own
        user = leg["filter"]["must"][1:]
        conditions = [one for clause in user for one in clause["must"]]
        assert len(user) == bool(where)
        assert {one["key"] for one in conditions} <= {"where"}
        assert len(conditions) == len(where)
        corpus = leg.get("params", {}).get("idf", {}).get("corpus")
        assert corpus in (None, {"must": [own]}), "statistics do not depend on user conditions"


@pytest.mark.parametrize("value", [None, "", 1, True, ["acme"], {"$ne": ""}, b"acme"])
def test_what_is_no_text_names_no_tenant(value: Any) -> None:
    with pytest.raises(TenantError, match="not a non-empty text"):
        tenant_filter(OWN_FIELDS, unchecked(value))
    with pytest.raises(TenantError, match="not a non-empty text"):
        sent(question("dense", unchecked(value)))


def test_weights_and_the_other_fusion() -> None:
    weighted = sent(question("hybrid"), Search(weights=(2.0, 1.0), rank_constant=20))
    assert weighted["query"] == {"rrf": {"k": 21, "weights": [2.0, 1.0]}}
    assert sent(question("hybrid"), Search(fusion="dbsf"))["query"] == {"fusion": "dbsf"}


def test_quantized_vectors_are_used_as_told() -> None:
    search = Search(rescore=False, oversampling=2.0, ignore_quantization=True)
    wanted = {"ignore": True, "rescore": False, "oversampling": 2.0}
    assert sent(question("dense"), search)["params"]["quantization"] == wanted
    assert sent(question("hybrid"), search)["prefetch"][0]["params"]["quantization"] == wanted
    assert "quantization" not in sent(question("dense"))["params"]


def test_a_shard_is_named_at_the_root() -> None:
    body = sent(question("hybrid"), shard="acme")
    assert body["shard_key"] == "acme"
    assert all("shard_key" not in leg for leg in body["prefetch"])


def test_an_attached_collection_is_asked_by_its_own_fields() -> None:
    """The unnamed vector is asked without `using`."""
    own = {"must": [{"key": "meta.owner", "match": {"value": "acme"}}]}
    body = sent(question("hybrid"), fields=ATTACHED)
    assert [leg["filter"] for leg in legs(body)] == [own] * 3
    assert [leg.get("using") for leg in body["prefetch"]] == [None, "bm25"]
    assert body["prefetch"][1]["params"]["idf"] == {"corpus": own}
    assert body["with_payload"] == ["pk", "meta.owner"]
    wanted = question("dense", want=frozenset({"text"}))
    assert sent(wanted, fields=ATTACHED)["with_payload"] == ["pk", "meta.owner", "body"]


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        ("en", {"match": {"value": "en"}}),
        (True, {"match": {"value": True}}),
        (3, {"range": {"gte": 3.0, "lte": 3.0}}),
        (2.5, {"range": {"gte": 2.5, "lte": 2.5}}),
        (2**60, {"match": {"value": 2**60}}),
    ],
)
def test_conditions_of_an_attached_collection(value: Any, condition: dict[str, Any]) -> None:
    body = sent(question("dense", where={"lang": value}), fields=ATTACHED)
    own, user = body["filter"]["must"]
    assert own == {"key": "meta.owner", "match": {"value": "acme"}}
    assert user == {"must": [{"key": "meta.lang", **condition}]}


def test_an_unmapped_condition_is_refused() -> None:
    with pytest.raises(InputError, match="'color' is mapped to no field"):
        sent(question("dense", where={"color": "red"}), fields=ATTACHED)


@pytest.mark.parametrize(
    ("fields", "condition"),
    [
        (OWN_FIELDS, {"has_id": [point_id("7"), point_id("x")]}),
        (ATTACHED, {"key": "pk", "match": {"any": ["7", "x"]}}),
        (replace(ATTACHED, numbered=True), {"key": "pk", "match": {"any": [7]}}),
        (replace(ATTACHED, uid=POINT_ID), {"has_id": [7]}),
    ],
)
def test_chunks_are_named_under_their_owner(fields: Fields, condition: dict[str, Any]) -> None:
    """What no point can be named is left out; no condition is ever dropped with it."""
    body = shown(chunks_filter(fields, ACME, ["7", "x"]))
    assert body["must"][0] == {"key": fields.tenant, "match": {"value": "acme"}}
    assert body["must"][1:] == [condition]
