"""Requests and answers as a recorder sees them: which legs find chunks, and under what condition.

Told from the bytes that go out and nothing else; in the adapters' clients this is called next
to the socket, where no credential is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from retrieverbench.adapter import Leg, Recorder

_SEARCHES = re.compile(r".*/(_search|_count|_delete_by_query|_update_by_query|_validate/query)")
_BY_ID = re.compile(r".*/(_doc|_source|_explain|_termvectors|_mget)(/.*)?")
_TEXT = frozenset({"match", "multi_match", "match_phrase", "query_string", "simple_query_string"})
_ALL: Mapping[str, Any] = {"match_all": {}}


def show_request(recorder: Recorder, method: str, target: str, content: bytes | None) -> None:
    """Show what is about to be sent; `target` is the path, with or without parameters."""
    body = _values(content)
    recorder.request(f"{method} {target}", tuple(legs_of(target, body)), body)


def show_response(
    recorder: Recorder,
    operation: str,
    status: int | str,
    headers: Mapping[str, str],
    content: bytes | str | object,
) -> None:
    """Show what came back: status, headers and body, that of an error included."""
    body = _values(content) if isinstance(content, bytes | str) else content
    recorder.response(operation, {"status": status, "headers": dict(headers), "body": body})


def legs_of(target: str, body: object) -> Iterator[Leg]:
    """Each part of a request that finds chunks; reads by id take no condition."""
    path = urlsplit(target).path
    if path.endswith("/_msearch"):
        for number, one in enumerate(body[1::2] if isinstance(body, list) else []):
            for leg in _legs_of_search(one):
                yield Leg(f"searches[{number}].{leg.path}", leg.condition)
    elif _SEARCHES.fullmatch(path):
        yield from _legs_of_search(body)
    elif _BY_ID.fullmatch(path):
        yield Leg("id", None)


def _legs_of_search(body: object) -> Iterator[Leg]:
    given: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    for number, nearest in enumerate(_listed(given.get("knn"))):
        yield Leg(f"knn[{number}]", _together(nearest.get("filter")))
    if "retriever" in given:
        yield from _legs_of_retriever("retriever", given["retriever"], [])
    if "query" in given or not given.keys() & {"knn", "retriever"}:
        yield from _legs_of_query("query", given.get("query", _ALL))


def _legs_of_retriever(path: str, retriever: Mapping[str, Any], above: list[Any]) -> Iterator[Leg]:
    """The children of a retriever, each with its own filter and those around it."""
    for kind, body in retriever.items():
        filters = [*above, *_listed(body.get("filter"))]
        here = f"{path}.{kind}"
        if kind == "standard":
            yield Leg(here, _together([*filters, _restriction(body.get("query", _ALL))]))
            continue
        inner = [*_listed(body.get("retrievers")), *_listed(body.get("retriever"))]
        for number, child in enumerate(inner):
            # A linear retriever wraps each of them once more.
            one = child.get("retriever", child)
            yield from _legs_of_retriever(f"{here}[{number}]", one, filters)
        if not inner:
            yield Leg(here, _together(filters))


def _legs_of_query(path: str, query: Mapping[str, Any]) -> Iterator[Leg]:
    hybrid = query.get("hybrid")
    if hybrid is None:
        yield Leg(path, _together([_restriction(query)]))
        return
    for number, one in enumerate(_listed(hybrid.get("queries"))):
        inside = [_restriction(one), *_listed(hybrid.get("filter"))]
        yield Leg(f"{path}.hybrid[{number}]", _together(inside))


def _restriction(query: Mapping[str, Any]) -> Any:
    """What of a query keeps chunks out, whatever the question: its words are taken to match all.

    Words are left in conditions (`filter`, `must_not`), where they are no question.
    """
    ((kind, body),) = query.items() if len(query) == 1 else [("", query)]
    if kind in _TEXT:
        return _ALL
    if kind == "bool":
        return {"bool": {name: _clause(name, clause) for name, clause in body.items()}}
    if kind == "knn":
        nearest = next(iter(body.values()), {}) if "field" not in body else body
        return _together(nearest.get("filter")) or _ALL
    if kind in {"script_score", "function_score"}:
        return _restriction(body.get("query", _ALL))
    return query


def _clause(name: str, clause: Any) -> Any:
    if name in {"must", "should"}:
        return [_restriction(query) for query in _listed(clause)]
    return clause


def _together(filters: Any) -> Any:
    """Several conditions as one; None when nothing is kept out."""
    kept = [one for one in _listed(filters) if not _lets_all_pass(one)]
    if not kept:
        return None
    return kept[0] if len(kept) == 1 else {"bool": {"filter": kept}}


def _lets_all_pass(query: Any) -> bool:
    if query == _ALL:
        return True
    clauses = query.get("bool") if isinstance(query, Mapping) else None
    if clauses is None:
        return False
    needed = [*_listed(clauses.get("must")), *_listed(clauses.get("filter"))]
    return not clauses.keys() & {"should", "must_not"} and all(map(_lets_all_pass, needed))


def _listed(clause: Any) -> list[Any]:
    if clause is None:
        return []
    return clause if isinstance(clause, list) else [clause]


def _values(content: bytes | str | None) -> object:
    """JSON as values, lines of JSON as a list of them; whatever else as text."""
    if not content:
        return None
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    try:
        return json.loads(text)
    except ValueError:
        try:
            return [json.loads(line) for line in text.split("\n") if line]
        except ValueError:
            return text
