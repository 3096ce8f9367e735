"""The body of a search: which keys there are, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from retrieverbench.engines.azure_search.binding import find_field
from retrieverbench.engines.azure_search.definition import Field
from retrieverbench.engines.azure_search.full_syntax import check_full
from retrieverbench.engines.azure_search.replies import (
    Refusal,
    invalid_expression,
    not_implemented,
)

T = TypeVar("T")
MAX_SKIP = 100_000
MAX_TEXT = 100_000
_USED_TEXT = (
    "search searchMode searchFields select filter top skip count facets minimumCoverage "
    "scoringStatistics sessionId vectorQueries vectorFilterMode queryType"
)
_USED = frozenset(_USED_TEXT.split())
_UNUSED_TEXT = (
    "orderby highlight highlightPreTag highlightPostTag scoringProfile scoringParameters "
    "semanticConfiguration semanticErrorHandling semanticMaxWaitInMilliseconds semanticQuery "
    "semanticFields answers captions debug hybridSearch queryRewrites queryLanguage speller"
)
_UNUSED = frozenset(_UNUSED_TEXT.split())
_VECTOR_USED = frozenset({"kind", "vector", "k", "fields", "exhaustive", "weight"})
_VECTOR_UNUSED_TEXT = "text url base64Image oversampling threshold filterOverride queryRewrites"
_VECTOR_UNUSED = frozenset(_VECTOR_UNUSED_TEXT.split())


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """One query vector over one or more fields, each a ranked list of `k`."""

    vector: Sequence[float]
    fields: Sequence[Field]
    k: int
    weight: float


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A checked search. `search` None means that there is no text list."""

    search: str | None
    search_mode: str
    search_fields: Sequence[Field]
    select: Sequence[str] | None
    filter: str | None
    top: int | None
    skip: int
    count: bool
    facets: Sequence[str]
    minimum_coverage: float | None
    global_statistics: bool
    vectors: Sequence[VectorQuery]
    vector_filter_mode: str


def parse_search(raw: Any, fields: Mapping[str, Field]) -> SearchRequest:
    """Check a body; Refusal 400 for what the service refuses, 501 for what we lack."""
    if not isinstance(raw, dict):
        raise Refusal(400, "The request is invalid. Details: An object was expected.")
    _check_keys(raw, _USED, _UNUSED)
    vectors = [_vector_query(query, fields) for query in raw.get("vectorQueries") or []]
    text = _typed(raw, "search", str)
    kind = _one_of(raw, "queryType", ("simple", "full", "semantic"))
    if kind == "full" and text not in {None, "", "*"}:
        check_full(str(text))
    if kind != "simple":
        raise not_implemented(f"queryType '{kind}'")
    if vectors and text in {"", "*"}:
        raise not_implemented(f"search '{text}' together with vectorQueries")
    if len(text or "") > MAX_TEXT:
        raise Refusal(400, f"The search text is longer than {MAX_TEXT} characters.")
    return SearchRequest(
        search=text,
        search_mode=_one_of(raw, "searchMode", ("any", "all")),
        search_fields=_search_fields(_typed(raw, "searchFields", str), fields),
        select=_names(_typed(raw, "select", str)),
        filter=_typed(raw, "filter", str),
        top=_bounded(raw, "top", 2**31 - 1),
        skip=_bounded(raw, "skip", MAX_SKIP) or 0,
        count=_typed(raw, "count", bool) or False,
        facets=_typed(raw, "facets", list) or [],
        minimum_coverage=raw.get("minimumCoverage"),
        global_statistics=_one_of(raw, "scoringStatistics", ("local", "global")) == "global",
        vectors=vectors,
        vector_filter_mode=_one_of(
            raw, "vectorFilterMode", ("preFilter", "postFilter", "strictPostFilter")
        ),
    )


def _check_keys(raw: Mapping[str, Any], used: frozenset[str], unused: frozenset[str]) -> None:
    for key, value in raw.items():
        if key in unused:
            if value is not None:
                raise not_implemented(f"the search parameter '{key}'")
        elif key not in used:
            raise Refusal(
                400,
                f"The request is invalid. Details: parameters : The parameter '{key}' in the "
                "request payload is not a valid parameter for the operation 'search'.\r\n",
            )


def _vector_query(raw: Any, fields: Mapping[str, Field]) -> VectorQuery:
    if not isinstance(raw, dict):
        raise _invalid("vectorQueries", "an object was expected")
    kind = raw.get("kind", "vector")
    if kind != "vector":
        raise not_implemented(f"vector queries of kind '{kind}'")
    _check_keys(raw, _VECTOR_USED, _VECTOR_UNUSED)
    names = _names(_typed(raw, "fields", str))
    if not names or len(names) > 10:
        raise _invalid("vectorQueries.fields", "name between 1 and 10 vector fields")
    searched = [find_field(name, fields, "vectorQueries.fields") for name in names]
    vector = _typed(raw, "vector", list)
    if vector is None or any(type(n) not in {int, float} for n in vector):
        raise _invalid("vectorQueries.vector", "a list of numbers was expected")
    for field in searched:
        if not field.is_vector:
            raise _invalid("vectorQueries.fields", f"'{field.name}' is not a vector field")
        if len(vector) != field.dimensions:
            raise Refusal(
                400,
                f"The vector field '{field.name}', with dimension of '{field.dimensions}', "
                f"expects a length of '{field.dimensions}'. However, the provided vector has a "
                f"length of '{len(vector)}'.",
                code="InvalidVectorQuery",
            )
    k = _bounded(raw, "k", 2**31 - 1)
    weight = raw.get("weight")
    if weight is not None and (type(weight) not in {int, float} or weight <= 0):
        raise _invalid("vectorQueries.weight", "a number above 0 was expected")
    _typed(raw, "exhaustive", bool)  # accepted; every vector search here is exhaustive
    return VectorQuery(vector, searched, 50 if k is None else k, weight or 1.0)


def _search_fields(names: str | None, fields: Mapping[str, Field]) -> list[Field]:
    searchable = [f for f in fields.values() if f.searchable and not f.is_vector]
    if not names:
        return searchable
    found = [find_field(name, fields, "searchFields") for name in _names(names) or []]
    for field in found:
        if field not in searchable:
            raise invalid_expression(f"'{field.name}' is not a searchable field.", "searchFields")
    return found


def _names(text: str | None) -> list[str] | None:
    return [name.strip() for name in text.split(",")] if text else None


def _typed(raw: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    value = raw.get(key)
    if value is None or type(value) is kind:
        return value
    raise _invalid(key, f"{value!r:.60} is not of type {kind.__name__}")


def _bounded(raw: Mapping[str, Any], key: str, limit: int) -> int | None:
    value = _typed(raw, key, int)
    if value is not None and not 0 <= value <= limit:
        raise _invalid(key, f"Value must be between 0 and {limit}")
    return value


def _one_of(raw: Mapping[str, Any], key: str, words: Sequence[str]) -> str:
    value = _typed(raw, key, str)
    if value is None:
        return words[0]
    if value not in words:
        raise _invalid(key, f"'{value}' is none of {', '.join(words)}")
    return value


def _invalid(key: str, message: str) -> Refusal:
    return Refusal(400, f"The request is invalid. Details: parameters : {key}: {message}.")
