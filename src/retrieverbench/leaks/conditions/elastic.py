"""The query language of Elasticsearch and OpenSearch, as far as conditions need it.

A tenant field is taken to be a keyword: one term, unchanged; numbers and booleans are
indexed as their JSON text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from retrieverbench.leaks.conditions.values import NotUnderstood, values_of


def holds(query: Any, owner: object) -> bool:
    """One query, as {kind: body}."""
    if not isinstance(query, Mapping) or len(query) != 1:
        raise NotUnderstood(f"a query of the shape {_shape(query)}")
    ((kind, body),) = query.items()
    if kind == "match_all":
        return True
    if kind == "match_none":
        return False
    if kind == "bool":
        return _bool(body, owner)
    if kind == "constant_score":
        return holds(body["filter"], owner)
    if kind == "exists":
        return bool(values_of(owner))
    return _on_field(kind, body, owner)


def _bool(body: Mapping[str, Any], owner: object) -> bool:
    unknown = body.keys() - {
        *("must", "filter", "should", "must_not", "minimum_should_match", "boost", "_name")
    }
    if unknown:
        raise NotUnderstood(f"a bool query with {', '.join(sorted(unknown))}")
    needed = [*_queries(body.get("must")), *_queries(body.get("filter"))]
    should = _queries(body.get("should"))
    at_least = body.get("minimum_should_match", 0 if needed or not should else 1)
    if not isinstance(at_least, int):
        raise NotUnderstood(f"minimum_should_match {at_least!r}")
    return (
        all(holds(query, owner) for query in needed)
        and sum(holds(query, owner) for query in should) >= at_least
        and not any(holds(query, owner) for query in _queries(body.get("must_not")))
    )


def _queries(clause: object) -> list[Any]:
    if clause is None:
        return []
    return clause if isinstance(clause, list) else [clause]


def _on_field(kind: str, body: Any, owner: object) -> bool:
    if not isinstance(body, Mapping):
        raise NotUnderstood(f"{kind} of {type(body).__name__}")
    named = {name: value for name, value in body.items() if name not in {"boost", "_name"}}
    if kind not in _TESTS or len(named) != 1:
        raise NotUnderstood(f"a query {kind!r} of {_shape(body)}")
    (wanted,) = named.values()
    folded = False
    if isinstance(wanted, Mapping):
        folded = wanted.get("case_insensitive") is True
        wanted = wanted.get("value", wanted.get("query"))
    if wanted is None:
        raise NotUnderstood(f"{kind} without a value")
    texts = [_term(value) for value in values_of(owner)]
    asked = [_term(one) for one in (wanted if isinstance(wanted, list) else [wanted])]
    if folded:
        texts, asked = [t.lower() for t in texts], [a.lower() for a in asked]
    return any(_TESTS[kind](one, text) for one in asked for text in texts)


def _like(pattern: str, text: str) -> bool:
    parts = {"*": ".*", "?": "."}
    expression = "".join(parts.get(c, re.escape(c)) for c in pattern)
    return re.fullmatch(expression, text, re.DOTALL) is not None


_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "term": lambda asked, text: asked == text,
    "terms": lambda asked, text: asked == text,
    "match": lambda asked, text: asked == text,
    "match_phrase": lambda asked, text: asked == text,
    "prefix": lambda asked, text: text.startswith(asked),
    "wildcard": _like,
}


def _term(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise NotUnderstood(f"a term of type {type(value).__name__}")


def _shape(value: object) -> str:
    return (
        ", ".join(map(str, value)) or "{}" if isinstance(value, Mapping) else type(value).__name__
    )
