"""What a recorder is shown: the condition of each leg, told from the bytes alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrieverbench.leaks.conditions import MISSING, holds
from retrieverbench.leaks.record import RequestLog
from retrieverbench.remote.lucene.recording import legs_of, show_request, show_response

OWN = {"term": {"tenant": "a"}}
WORDS = {"match": {"text": {"query": "leave"}}}
LEXICAL = {"bool": {"must": [WORDS], "filter": [OWN]}}
OPEN = {"bool": {"must": [WORDS], "filter": []}}
KNN = {"knn": {"vector": {"vector": [1.0], "k": 3, "filter": {"bool": {"filter": [OWN]}}}}}
SCRIPT = {"script_score": {"query": {"bool": {"filter": [OWN]}}, "script": {}}}
RRF = {
    "rrf": {
        "retrievers": [
            {"standard": {"query": LEXICAL}},
            {"knn": {"field": "vector", "filter": [OWN]}},
        ]
    }
}
OUTER = {"rrf": {"filter": OWN, "retrievers": [{"standard": {"query": WORDS}}, {"knn": {}}]}}
LINEAR = {"linear": {"retrievers": [{"retriever": {"standard": {"query": LEXICAL}}, "weight": 1}]}}
HYBRID = {"hybrid": {"queries": [LEXICAL, KNN]}}


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"query": LEXICAL}, ["query"]),
        ({"knn": {"field": "vector", "filter": [OWN]}}, ["knn[0]"]),
        ({"knn": [{"filter": OWN}], "query": LEXICAL}, ["knn[0]", "query"]),
        ({"query": KNN}, ["query"]),
        ({"query": SCRIPT}, ["query"]),
        ({"query": HYBRID}, ["query.hybrid[0]", "query.hybrid[1]"]),
        ({"query": {"hybrid": {"queries": [WORDS], "filter": OWN}}}, ["query.hybrid[0]"]),
        ({"retriever": RRF}, ["retriever.rrf[0].standard", "retriever.rrf[1].knn"]),
        ({"retriever": OUTER}, ["retriever.rrf[0].standard", "retriever.rrf[1].knn"]),
        ({"retriever": LINEAR}, ["retriever.linear[0].standard"]),
    ],
)
def test_each_leg_has_the_condition_that_governs_it(body: dict[str, Any], paths: list[str]) -> None:
    """Judged by meaning, as the audit does: true for the own document and for no other."""
    legs = list(legs_of("/i/_search?routing=x", body))
    assert [leg.path for leg in legs] == paths
    for leg in legs:
        assert [owner for owner in ("a", "b", MISSING, "") if holds(leg.condition, owner)] == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": WORDS},
        {"query": OPEN},
        {"query": {"bool": {"must": [WORDS], "should": [OWN]}}},
        {"query": {"bool": {"must": [WORDS], "should": []}}},
        {"query": WORDS, "post_filter": OWN},
        {"knn": {"field": "vector"}, "post_filter": OWN},
        {"query": {"knn": {"vector": {"k": 3, "filter": {"bool": {"filter": []}}}}}},
        {"query": {"bool": {"must": [{"match": {"tenant": "a"}}]}}},
        {"query": {"hybrid": {"queries": [WORDS, {"knn": {"vector": {}}}]}}},
        {"retriever": {"rrf": {"retrievers": [{"standard": {"query": WORDS}}]}}},
    ],
)
def test_a_condition_that_keeps_nobody_out_is_shown_as_such(body: dict[str, Any]) -> None:
    """Dropped, in `should` beside words, after the search, by words instead of a term."""
    legs = list(legs_of("/i/_search", body))
    assert legs
    for leg in legs:
        assert holds(leg.condition, "b")


def test_an_index_of_one_tenant_needs_no_condition_and_shows_none() -> None:
    assert [leg.condition for leg in legs_of("/i/_search", {"query": OPEN})] == [None]


def test_every_line_of_a_multi_search_and_every_read_by_id_is_a_leg() -> None:
    log = RequestLog()
    lines = [{"index": "i"}, {"query": LEXICAL}, {"index": "i"}, {"query": WORDS}]
    content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    show_request(log, "POST", "/_msearch", content.encode())
    show_request(log, "GET", "/i/_doc/a%2F1", None)
    show_request(log, "POST", "/_bulk", b'{"delete":{}}\n')
    many, one, bulk = log.take()[0]
    assert [leg.path for leg in many.legs] == ["searches[0].query", "searches[1].query"]
    assert holds(many.legs[0].condition, "b") is False
    assert many.legs[1].condition is None
    assert many.body == lines
    assert [(leg.path, leg.condition) for leg in one.legs] == [("id", None)]
    assert bulk.legs == ()


def test_answers_are_shown_with_their_status_and_whatever_they_hold() -> None:
    log = RequestLog()
    show_response(log, "GET /", 502, {"a": "b"}, b"<html>\xff")
    show_response(log, "GET /", 200, {}, '{"took": 1}')
    assert log.take()[1] == [
        (
            "GET /",
            {"status": 502, "headers": {"a": "b"}, "body": "<html>\N{REPLACEMENT CHARACTER}"},
        ),
        ("GET /", {"status": 200, "headers": {}, "body": {"took": 1}}),
    ]
