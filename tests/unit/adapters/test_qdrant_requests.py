"""What the adapter sends: every leg carries the tenant, whatever the question."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieverbench.errors import InputError, TenantError
from retrieverbench.model import MODES, Chunk, Mode, Query, TenantId
from retrieverbench_adapters.qdrant.options import Search
from retrieverbench_adapters.qdrant.requests import (
    bodies,
    build_request,
    point_row,
    tenant_filter,
    where_token,
)
from retrieverbench_adapters.qdrant.terms import Lexicon, TermCounts, document_weights, term_id

ACME = TenantId("acme")
OWN = {"must": [{"key": "tenant", "match": {"value": "acme"}}]}
COUNTS = TermCounts({7: 2, 9: 1}, 3)

texts = st.text(st.characters(codec="utf-8"))
values = st.one_of(st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False), texts)


def question(mode: Mode, tenant: TenantId = ACME, **more: Any) -> Query:
    return Query("words", tenant, 10, mode, array("f", [0.5, 0.25]), **more)


def sent(query: Query, search: Search | None = None, *, idf_corpus: bool = True) -> dict[str, Any]:
    request = build_request(query, COUNTS, search or Search(), idf_corpus=idf_corpus)
    body: dict[str, Any] = json.loads(request.model_dump_json(exclude_none=True))
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
        tenant_filter(unchecked(value))
    with pytest.raises(TenantError, match="not a non-empty text"):
        build_request(question("dense", unchecked(value)), COUNTS, Search(), idf_corpus=True)


def test_a_stored_point_says_its_tenant_and_its_names() -> None:
    chunk = Chunk("1/2", ACME, "Text", title="Title", metadata={"lang": "en", "n": 2.0})
    row = json.loads(point_row(chunk, {"dense": [1.0]}))
    assert row["vector"] == {"dense": [1.0]}
    assert row["payload"] == {
        "uid": "acme/1/2",
        "id": "1/2",
        "tenant": "acme",
        "text": "Text",
        "title": "Title",
        "metadata": {"lang": "en", "n": 2.0},
        "where": ['["lang","en"]', '["n",2]'],
    }
    other = json.loads(point_row(Chunk("1/2", TenantId("globex"), "Text"), {}))
    assert other["id"] != row["id"]


@given(st.tuples(texts, values), st.tuples(texts, values))
def test_equal_pairs_and_only_those_have_equal_tokens(
    one: tuple[str, Any], other: tuple[str, Any]
) -> None:
    same_kind = isinstance(one[1], bool) == isinstance(other[1], bool)
    equal = one == other and same_kind
    assert (where_token(*one) == where_token(*other)) == equal


def test_numbers_are_equal_as_numbers_and_booleans_are_none() -> None:
    assert where_token("a", 1) == where_token("a", 1.0) == '["a",1]'
    assert where_token("a", True) == '["a",true]'
    assert where_token("a", "1") == '["a","1"]'


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=30), st.integers(20, 80))
def test_bodies_hold_every_row_once_and_keep_the_limit(rows: list[bytes], most: int) -> None:
    rows = [row.hex().encode() for row in rows]
    made = list(bodies((b'"' + row + b'"' for row in rows), most))
    parts = [json.loads(body)["points"] for body in made]
    assert [row.encode() for part in parts for row in part] == rows
    for body, part in zip(made, parts, strict=True):
        assert len(body) <= most or len(part) == 1


def test_english_analysis() -> None:
    terms = list(Lexicon().terms("The Refunds of ERR-4012 aren't the customer’s; v1.2.3 café_x"))  # noqa: RUF001
    assert terms == ["refund", "err", "4012", "aren't", "custom", "v1.2.3", "café_x"]


def test_term_ids_are_the_same_everywhere() -> None:
    assert term_id("refund") == 1155478322


def test_terms_that_share_an_id_count_as_one_and_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieverbench_adapters.qdrant.terms.term_id", len)
    lexicon = Lexicon()
    counts = lexicon.count_chunk("red sky blue sky")
    assert (counts.by_id, counts.length) == ({3: 3, 4: 1}, 4)
    assert lexicon.collisions() == 1


def test_weights_are_bm25_without_idf() -> None:
    weights = document_weights(COUNTS, average=6.0, k1=1.2, b=0.75)
    norm = 1.2 * (0.25 + 0.75 * 3 / 6)
    assert weights == pytest.approx([2 / (2 + norm), 1 / (1 + norm)])
    assert document_weights(COUNTS, average=6.0, k1=0.0, b=0.0) == [1.0, 1.0]
    assert all(map(math.isfinite, weights))
