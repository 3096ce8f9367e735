"""Conditions of four languages, told by their shape, over documents of one tenant field."""

from __future__ import annotations

import pytest

from retrieverbench.leaks.conditions import MISSING, NotUnderstood, holds, is_absent

Q = {"key": "tenant", "match": {"value": "acme"}}
FILTERS = {
    "qdrant": {"must": [Q]},
    "qdrant nested": {"must": [Q, {"must": [{"should": [Q]}]}]},
    "elasticsearch": {"bool": {"filter": [{"term": {"tenant": {"value": "acme"}}}]}},
    "elasticsearch list": [{"term": {"tenant": "acme"}}],
    "odata": "(tenant eq 'acme') and (true)",
    "odata set": "search.in(tenant, 'acme', '|')",
    "azure search, told with its index": {"index": "rb", "filter": "tenant eq 'acme'"},
    "sql": {
        "sql": '"t"."tenant" = %(tenant)s::text', "parameters": {"tenant": "acme"},
    },
    "sql policy": {
        "sql": "(tenant = nullif(current_setting('rb.tenant', true), '')) AND true",
        "parameters": {"rb.tenant": "acme"},
    },
    "sql policy that fails without a tenant": {
        "sql": "((owner = current_setting('app.tenant'::text))) AND true",
        "parameters": {"app.tenant": "acme"},
    },
}  # fmt: skip
OTHERS = ["globex", MISSING, None, "", "acme-corp", "ACME", "acme ", True, 0, "acme' OR '1'='1"]


@pytest.mark.parametrize("name", FILTERS)
def test_an_equality_is_true_for_its_owner_alone(name: str) -> None:
    assert holds(FILTERS[name], "acme")
    for owner in OTHERS:
        assert not holds(FILTERS[name], owner), owner


@pytest.mark.parametrize(
    "condition",
    [
        {"must": [{"key": "org", "match": {"value": 1}}]},
        {"bool": {"filter": [{"term": {"org": 1}}], "minimum_should_match": 0}},
        "(org eq 1) and (true)",
        {"sql": '"t"."org" = %(tenant)s::bigint', "parameters": {"tenant": 1}},
    ],
)
def test_an_owner_that_is_a_number_is_told_by_its_very_digits(condition: object) -> None:
    assert holds(condition, "1")
    for owner in ("01", "1.0", "11", "-1", "acme", "", MISSING, None, True):
        assert not holds(condition, owner), owner


@pytest.mark.parametrize(
    ("condition", "owner"),
    [
        (None, "globex"),
        ("org7 ne '7'", "8"),
        ({"must_not": [{"key": "org", "match": {"value": 7}}]}, "8"),
        ({}, "globex"),
        ({"must": [], "should": None}, MISSING),
        ({"must_not": [{"key": "tenant", "match": {"value": "globex"}}]}, None),
        ({"should": [Q, {"is_empty": {"key": "tenant"}}]}, MISSING),
        ({"must": [{"key": "tenant", "match": {"except": ["acme"]}}]}, "globex"),
        ({"must": [{"key": "tenant", "match": {"text": "acme"}}]}, "Acme-Corp"),
        ({"must": [{"key": "tenant", "match": {"prefix": "ac"}}]}, "acme-corp"),
        ({"must": [Q]}, ["acme", "globex"]),
        ({"min_should": {"conditions": [Q, {"is_null": {"key": "tenant"}}], "min_count": 1}}, None),
        ({"match_all": {}}, "globex"),
        ({"bool": {}}, MISSING),
        ({"bool": {"should": [{"term": {"tenant": "acme"}}], "must": {"match_all": {}}}}, "globex"),
        ({"bool": {"must_not": [{"exists": {"field": "tenant"}}]}}, MISSING),
        ({"term": {"tenant": {"value": "ACME", "case_insensitive": True}}}, "acme"),
        ({"wildcard": {"tenant": "acm?"}}, "acmx"),
        ("tenant ne 'acme'", None),
        ("not (tenant eq 'acme') and true", "globex"),
        ("tenant eq 'a' and tenant eq 'b' or tenant eq 'c'", "c"),
        ("search.in(tenant, 'acme,globex')", "globex"),
        ("tenant eq 'O''Neil'", "O'Neil"),
        ("tenants/any(t: t eq 'acme')", ["globex", "acme"]),
        ({"sql": "tenant = %(t)s OR true", "parameters": {"t": "acme"}}, "globex"),
        ({"sql": "tenant LIKE %(t)s", "parameters": {"t": "ac%"}}, "acme-corp"),
        ({"sql": "tenant IS NULL", "parameters": {}}, MISSING),
        ({"sql": "lower(tenant) = %(t)s::text", "parameters": {"t": "acme"}}, "ACME"),
    ],
)  # fmt: skip
def test_what_an_open_condition_lets_pass(condition: object, owner: object) -> None:
    assert holds(condition, owner)


def test_a_place_alone_is_no_condition() -> None:
    assert is_absent(None)
    assert is_absent({"index": "rb", "filter": None})
    assert holds({"index": "rb", "filter": None}, "globex")
    assert not is_absent({"index": "rb", "filter": "tenant eq 'acme'"})
    assert not is_absent({})


@pytest.mark.parametrize(
    "condition",
    [
        7,
        {"query_string": {"query": "tenant:acme"}},
        {"must": [{"nested": {}}]},
        {"must": [{"key": "tenant", "match": {"fuzzy": "acme"}}]},
        {"bool": {"filters": []}},
        {"term": {"tenant": {"boost": 1}}},
        "tenant eq 'acme",
        "tenant eq acme",
        "tenant eq 'acme' 'globex'",
        "search.ismatch('acme', 'tenant')",
        "",
        {"sql": "tenant @> %(t)s", "parameters": {"t": "acme"}},
        {"sql": "tenant = %(absent)s", "parameters": {}},
        {"sql": "tenant = ", "parameters": {}},
    ],
)
def test_what_is_not_understood_is_never_guessed(condition: object) -> None:
    with pytest.raises(NotUnderstood):
        holds(condition, "acme")
