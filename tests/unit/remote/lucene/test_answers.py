"""Answers read, and what an index differs in."""

from __future__ import annotations

from typing import Any

import pytest

from lucene_support import empty_answer, query
from retrieverbench.errors import AdapterError, Throttled
from retrieverbench.remote.lucene import check_bulk, error_words, read_fused, read_response
from retrieverbench.remote.lucene.answers import difference, tenant_field_fault
from retrieverbench.remote.lucene.requests import TextIndex

OWN = TextIndex("english", 1.2, 0.75).names


@pytest.mark.parametrize(
    ("failed", "timed_out", "partial"), [(0, False, False), (1, False, True), (0, True, True)]
)
def test_an_incomplete_answer_says_so(failed: int, timed_out: bool, partial: bool) -> None:
    answer = empty_answer(failed=failed, timed_out=timed_out)
    assert read_response(answer, query("a", "lexical"), OWN).partial is partial
    both = {"took": 1, "responses": [answer, empty_answer()]}
    assert read_fused("x", both, query("a", "hybrid"), OWN, 60).partial is partial


def test_ties_come_in_the_order_of_uids() -> None:
    hits = [
        {"_score": score, "fields": {"uid": [uid], "tenant": ["a"]}}
        for uid, score in [("c", 2.0), ("b", 1.0), ("a", 1.0)]
    ]
    answer = {**empty_answer(), "hits": {"hits": hits}}
    found = read_response(answer, query("a", "dense"), OWN).hits
    assert [hit.uid for hit in found] == ["c", "a", "b"]


def test_the_first_failed_item_of_a_bulk_is_raised() -> None:
    failed = {"_id": "a/2", "status": 429, "error": {"type": "rejected", "reason": "full"}}
    answer = {"items": [{"index": {"_id": "a/1", "status": 201}}, {"index": failed}]}
    with pytest.raises(Throttled, match=r"1 of 2 chunks were not stored.*a/2.*rejected: full"):
        check_bulk("x", answer, 2)
    with pytest.raises(AdapterError, match="3 chunks sent, 2 acknowledged"):
        check_bulk("x", {"items": answer["items"][:1] * 2}, 3)


def test_the_root_cause_is_told_with_what_caused_it() -> None:
    root = {"type": "a", "reason": "b"}
    error = {"type": "x", "reason": "y", "root_cause": [root], "caused_by": {"reason": "c\nd"}}
    assert error_words(error) == "a: b; c d"
    assert error_words("plain\n words") == "plain words"


def index(**tenant: Any) -> dict[str, Any]:
    fields = {"tenant": tenant or {"type": "keyword"}}
    return {
        "mappings": {"properties": fields},
        "settings": {"index": {"number_of_shards": "1", "knn": "true"}},
    }


@pytest.mark.parametrize(
    ("tenant", "words"),
    [
        ({"type": "keyword"}, ""),
        ({"type": "keyword", "ignore_above": 128}, ""),
        ({"type": "keyword", "ignore_above": 127}, "ignores values above 127"),
        ({"type": "keyword", "normalizer": "lowercase"}, "normalizer 'lowercase'"),
        ({"type": "text"}, "is text, not keyword"),
    ],
)
def test_a_tenant_field_is_exact_or_says_why_not(tenant: dict[str, object], words: str) -> None:
    fault = tenant_field_fault(index(**tenant))
    assert words in fault
    assert bool(fault) is bool(words)
    assert ("; " in fault and "index it again" in fault) is bool(words)  # what to do


def test_a_limit_of_the_whole_index_counts_too() -> None:
    found = index()
    found["settings"]["index"]["mapping"] = {"ignore_above": "64"}
    assert "ignores values above 64" in tenant_field_fault(found)


def test_indices_are_compared_as_the_server_tells_their_settings() -> None:
    wanted = index()
    wanted["settings"]["index"] = {"number_of_shards": 1, "knn": True}
    assert difference(wanted, index()) == ""
    wanted["settings"]["index"]["number_of_shards"] = 2
    assert difference(wanted, index()) == "settings.index.number_of_shards is 1, wanted 2"
    more = index()
    more["mappings"]["properties"]["mine"] = {"type": "keyword"}
    assert "it has the field 'mine'" in difference(index(), more)
