"""Ways to break the stand-in on purpose: each is proof that an audit of leaks can fail.

Off unless the option `BROKEN_ON_PURPOSE` names one of them. Then every answer carries
HEADER, `/healthz` and the details of the start say so, and the adapter lists it among the
weaknesses.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

HEADER = "x-retrieverbench-broken-on-purpose"
Mutant = Literal[
    "ignore_filter",
    "text_leg_unfiltered",
    "vector_leg_unfiltered",
    "filter_page1_only",
    "ci_eq",
    "prefix_eq",
    "strip_eq",
    "or_precedence",
    "search_in_default_delimiters",
    "null_matches_eq",
    "post_filter_only",
    "cache_without_tenant",
    "stale_delete",
    "stale_move",
    "total_unfiltered",
    "facets_unfiltered",
    "cross_talk",
]
BREAKS: Mapping[Mutant, str] = {
    "ignore_filter": "the filter is accepted and ignored",
    "text_leg_unfiltered": "the text list of a hybrid search is not filtered",
    "vector_leg_unfiltered": "the vector lists of a hybrid search are not filtered",
    "filter_page1_only": "only the first 50 hits are filtered, what follows is not",
    "ci_eq": "equality ignores case",
    "prefix_eq": "equality matches every value that begins so",
    "strip_eq": "equality ignores blanks around a value",
    "or_precedence": "`and` and `or` bind alike, from the left",
    "search_in_default_delimiters": "search.in ignores the delimiters it is given",
    "null_matches_eq": "a document without a value is equal to every value",
    "post_filter_only": "the filter is applied after the best are chosen",
    "cache_without_tenant": "answers are kept by query text and vector alone",
    "stale_delete": "a delete is acknowledged and never applied",
    "stale_move": "after a merge the old values still match filters too",
    "total_unfiltered": "the count is that of all matches, whatever the filter",
    "facets_unfiltered": "facets count all matches, whatever the filter",
    "cross_talk": "of two searches at the same time the later gets the other's filter",
}
_PAGE = 50
Compare = Callable[[Any, Any], bool]
Rank = Callable[[set[int], set[int]], dict[int, float]]
"""The matches with their scores, best first; the sets may be found by text and by vector."""


@dataclass(frozen=True, slots=True)
class Matches:
    """What an answer is made of: the hits of all pages, what is counted, what facets see."""

    hits: Sequence[int]
    scores: Mapping[int, float]
    counted: int
    faceted: Sequence[int]


def equality(mutant: Mutant | None) -> Compare:
    """What `eq` and search.in mean."""
    folded: Mapping[Mutant, Callable[[str, str], bool]] = {
        "ci_eq": lambda value, wanted: value.lower() == wanted.lower(),
        "prefix_eq": lambda value, wanted: value.startswith(wanted),
        "strip_eq": lambda value, wanted: value.strip() == wanted.strip(),
    }
    if mutant == "null_matches_eq":
        return lambda value, wanted: value is None or value == wanted
    broken = None if mutant is None else folded.get(mutant)
    if broken is None:
        return operator.eq
    return lambda value, wanted: (
        broken(value, wanted)
        if isinstance(value, str) and isinstance(wanted, str)
        else value == wanted
    )


def matches(
    mutant: Mutant | None,
    rank: Rank,
    allowed: set[int],
    every: set[int],
    *,
    hybrid: bool,
    ranks: bool,
    top: int,
) -> Matches:
    """The matches of a search up to place `top`; `ranks` is whether it prefers any document."""
    match mutant:
        case "ignore_filter":
            found = rank(every, every)
        case "text_leg_unfiltered" if hybrid:
            found = rank(every, allowed)
        case "vector_leg_unfiltered" if hybrid:
            found = rank(allowed, every)
        case "post_filter_only" if ranks:
            best = list(rank(every, every).items())[:top]
            found = {number: score for number, score in best if number in allowed}
        case "filter_page1_only" if top > _PAGE:
            found = _first_page_filtered(rank(allowed, allowed), rank(every, every))
        case _:
            found = rank(allowed, allowed)
    unfiltered = rank(every, every) if mutant in {"total_unfiltered", "facets_unfiltered"} else {}
    counted = len(unfiltered if mutant == "total_unfiltered" else found)
    faceted = list(unfiltered if mutant == "facets_unfiltered" else found)
    return Matches(list(found), found, counted, faceted)


def _first_page_filtered(
    filtered: Mapping[int, float], unfiltered: Mapping[int, float]
) -> dict[int, float]:
    """Scores never rise from hit to hit, else anybody would see that something is wrong."""
    found = dict(list(filtered.items())[:_PAGE])
    lowest = min(found.values(), default=float("inf"))
    for number, score in unfiltered.items():
        if number not in found:
            lowest = found[number] = min(lowest, score)
    return found
