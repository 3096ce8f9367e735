"""What of a BEIR query's metadata becomes a field of the case."""

from __future__ import annotations

import pytest

from retrieverbench.golden.beir_queries import query_record
from retrieverbench.golden.faults import Faults
from retrieverbench.golden.lines import Line


def record_data(metadata: dict[str, object], *, ignore_tenants: bool = False) -> dict[str, object]:
    line = Line(1, {"_id": "q", "text": "t", "metadata": metadata})
    data = dict(query_record(line, Faults("f"), ignore_tenants=ignore_tenants).data)
    return {k: v for k, v in data.items() if k not in {"_id", "text"}}


@pytest.mark.parametrize(
    ("metadata", "fields"),
    [
        ({"tenant": "acme"}, {"tenant": "acme"}),
        ({"tenant": 7}, {"tenant": 7}),
        ({"answerable": False}, {"unanswerable": True}),
        (
            {"answerable": False, "unanswerable": False},
            {"unanswerable": False, "meta": {"answerable": False}},
        ),
        ({"answer": "a", "lang": "de"}, {"answer": "a", "lang": "de"}),
        ({"answer": ["a", "b"]}, {"meta": {"answer": ["a", "b"]}}),
        ({"trap_docs": ["d"]}, {"trap_docs": ["d"]}),
        ({"trap_docs": [1]}, {"meta": {"trap_docs": [1]}}),
        ({"kind": "fact", "variant": "typo"}, {"kind": "fact", "variant": "typo"}),
        ({"kind": "x", "variant": []}, {"meta": {"kind": "x", "variant": []}}),
        (
            {"must_pass": True, "needs_review": "no"},
            {"must_pass": True, "meta": {"needs_review": "no"}},
        ),
        ({"review": {}, "anchors": 3}, {"review": {}, "meta": {"anchors": 3}}),
        ({"relevance": {"d": 1}, "query": "x"}, {"meta": {"relevance": {"d": 1}, "query": "x"}}),
    ],
)
def test_fields(metadata: dict[str, object], fields: dict[str, object]) -> None:
    assert record_data(metadata) == fields


def test_tenants_can_be_ignored() -> None:
    assert record_data({"tenant_id": "acme", "x": 1}, ignore_tenants=True) == {"meta": {"x": 1}}


def test_other_top_level_fields_are_refused() -> None:
    faults = Faults("f")
    query_record(Line(1, {"_id": "q", "text": "t", "txt": ""}), faults, ignore_tenants=False)
    assert faults.lines(warnings=False) == [
        "f:1: txt: unknown field; did you mean 'text'? Extra data belongs in 'metadata' [G13]"
    ]
