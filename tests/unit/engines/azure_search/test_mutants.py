"""Each way of breaking the stand-in does what it says, and nothing without its name."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from azure_support import vector
from retrieverbench.engines.azure_search.mutants import Mutant
from stand_in_support import InProcess, in_process, parsed

OWN = "tenant eq 'a'"


def loaded(mutant: Mutant | None) -> InProcess:
    made = in_process(BROKEN_ON_PURPOSE=mutant)
    tenants = ["a", "A", "ab", "a ", None, "b", "a"]
    made.write(
        *(
            {"id": str(i), "tenant": tenant, "content": "pool", "n": i, "vec": [1.0, i / 10]}
            for i, tenant in enumerate(tenants)
        )
    )
    return made


def found(stand_in: InProcess, **body: object) -> str:
    return "".join(sorted(stand_in.ids(**{"filter": OWN, "search": "pool", **body})))


FILTERS: list[tuple[Mutant, dict[str, Any], str]] = [
    ("ignore_filter", {}, "0123456"),
    ("ci_eq", {}, "016"),
    ("prefix_eq", {}, "0236"),
    ("strip_eq", {}, "036"),
    ("null_matches_eq", {}, "046"),
    ("text_leg_unfiltered", {"vectorQueries": [vector(1, 0)]}, "0123456"),
    ("text_leg_unfiltered", {}, "06"),
    ("vector_leg_unfiltered", {"vectorQueries": [vector(1, 0)]}, "0123456"),
    ("vector_leg_unfiltered", {"vectorQueries": [vector(1, 0)], "search": None}, "06"),
    ("or_precedence", {"filter": f"n eq 5 or n eq 6 and {OWN}"}, "6"),
    ("search_in_default_delimiters", {"filter": "search.in(tenant,'a b|q','|')"}, "06"),
    ("post_filter_only", {"top": 2}, "0"),
    ("filter_page1_only", {}, "06"),
    ("filter_page1_only", {"top": 51}, "0123456"),
]


@pytest.mark.parametrize(("mutant", "body", "expected"), FILTERS)
def test_what_is_found(mutant: Mutant, body: dict[str, Any], expected: str) -> None:
    assert found(loaded(mutant), **body) == expected
    right = {"or_precedence": "56", "search_in_default_delimiters": ""}.get(mutant, "06")
    assert found(loaded(None), **body) == (right if "top" not in body else "06"[: body["top"]])


def test_counts_and_facets() -> None:
    def counted(mutant: Mutant | None) -> tuple[int, int]:
        body = {"filter": OWN, "search": "pool", "count": True, "facets": ["n,count:0"]}
        answer = parsed(loaded(mutant).search(**body))
        assert [hit["id"] for hit in answer["value"]] == ["0", "6"]
        return answer["@odata.count"], len(answer["@search.facets"]["n"])

    assert counted(None) == (2, 2)
    assert counted("total_unfiltered") == (7, 2)
    assert counted("facets_unfiltered") == (2, 7)


def test_cache() -> None:
    stand_in = loaded("cache_without_tenant")
    assert found(stand_in) == found(stand_in, filter="tenant eq 'b'") == "06"
    stand_in.write({"id": "9"})
    assert found(stand_in, filter="tenant eq 'b'") == "5"


def test_deletes_and_moves() -> None:
    delete = {"@search.action": "delete", "id": "0"}
    move = {"@search.action": "merge", "id": "0", "tenant": "b"}
    for mutant, action, own, other in (
        (None, delete, "6", "5"),
        ("stale_delete", delete, "06", "5"),
        (None, move, "6", "05"),
        ("stale_move", move, "06", "05"),
    ):
        stand_in = loaded(mutant)  # type: ignore[arg-type]
        assert stand_in.write(action).status == 200
        assert found(stand_in) == own
        assert found(stand_in, filter="tenant eq 'b'") == other


def test_none_is_left_out() -> None:
    here = {mutant for mutant, _, _ in FILTERS}
    here |= {"total_unfiltered", "facets_unfiltered", "cache_without_tenant"}
    here |= {"stale_delete", "stale_move"}
    assert set(get_args(Mutant)) - here == {"cross_talk"}  # over a network: tests/contract
