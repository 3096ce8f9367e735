"""Hits are read where the suite says that they stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from http_service_support import FIELDS
from retrieverbench.errors import AdapterError
from retrieverbench.model import Hit
from retrieverbench_adapters.http_api.answers import read_hits
from retrieverbench_adapters.http_api.options import Search

HIT = {"doc": {"id": "a", "body": "text"}, "score": 0.5}
WANT = frozenset({"text", "tenant"})


@pytest.mark.parametrize(
    ("answer", "hits"),
    [
        ({"hits": [HIT]}, "hits"),
        ({"data": {"found": [HIT]}}, "data.found"),
        ({"a.b": {"c/d": [HIT]}}, "/a.b/c~1d"),
        ([{"rows": [HIT]}], "0.rows"),
        ([HIT], "."),
    ],
)
def test_the_list_stands_where_it_is_said(answer: Any, hits: str) -> None:
    (hit,) = read_hits(answer, FIELDS, Search(hits), WANT)
    assert hit == Hit("a", 0.5, None, "text")


def test_ids_without_scores_are_ranked_by_their_place() -> None:
    fields = replace(FIELDS, id=".")
    found = read_hits(["a", 7], fields, Search(".", score=""), frozenset())
    assert found == [Hit("a", 1.0), Hit("7", 0.5)]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"rows": []}, "'hits' is not in the answer; name in search.hits .* there are rows"),
        ({"hits": {}}, "holds dict"),
        ({"hits": [{"score": 1}]}, "'doc.id' of hit 1 is not there; name in attach.id .* score"),
        ({"hits": [{"doc": {"id": True}, "score": 1}]}, "is bool, not an id"),
        ({"hits": [{"doc": {"id": "a"}}]}, 'write score = "" where hits have none'),
        ({"hits": [{"doc": {"id": "a"}, "score": "1"}]}, "of hit 1 is str"),
    ],
)
def test_an_answer_of_another_shape_is_named(answer: Any, fault: str) -> None:
    with pytest.raises(AdapterError, match=fault):
        read_hits(answer, FIELDS, Search(), frozenset())
