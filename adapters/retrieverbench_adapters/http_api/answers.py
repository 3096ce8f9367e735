"""Hits read from a service's answer, at the places that the suite names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from retrieverbench.adapter import Attached
from retrieverbench.errors import AdapterError
from retrieverbench.model import Hit
from retrieverbench_adapters.http_api.options import Search

_MOST_ROWS = 10_000
"""Far more than any question asks for: such an answer is refused, and judged by these."""
_MOST_NAMES = 10
"""Names of an answer's parts that an error tells."""


def read_hits(
    answer: object, attached: Attached, search: Search, want: Collection[str]
) -> list[Hit]:
    """The hits in the service's order. Raises AdapterError for an answer of another shape."""
    rows = _at(answer, search.hits)
    if not isinstance(rows, list):
        kind = type(rows).__name__
        found = "is not in the answer" if rows is None else f"holds {kind}, not a list"
        raise AdapterError(
            f"http_api: search.hits: {search.hits!r} {found}",
            remedy=f"name in search.hits where the list of hits stands; {_seen(answer)}",
        )
    some = rows[:_MOST_ROWS]
    return [_hit(row, rank, attached, search, want) for rank, row in enumerate(some, start=1)]


def _hit(row: object, rank: int, attached: Attached, search: Search, want: Collection[str]) -> Hit:
    id_ = _at(row, attached.id)
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        raise AdapterError(
            f"http_api: attach.id: {attached.id!r} of hit {rank} "
            + ("is not there" if id_ is None else f"is {type(id_).__name__}, not an id"),
            remedy=f"name in attach.id where the id of a hit stands; {_seen(row)}",
        )
    score = _at(row, search.score) if search.score else 1 / rank
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise AdapterError(
            f"http_api: search.score: {search.score!r} of hit {rank} is {type(score).__name__}, "
            "not a number",
            remedy='name in search.score where a number stands, or write score = "" where hits '
            f"have none; {_seen(row)}",
        )
    owner = _at(row, search.owner) if search.owner and "tenant" in want else None
    texts = [_at(row, place) for place in attached.text] if "text" in want else []
    return Hit(
        str(id_),
        float(score),
        tenant=owner if isinstance(owner, str) else None,
        text="\n".join(text for text in texts if isinstance(text, str)) or None,
    )


def _seen(value: object) -> str:
    """The names that a suite could have meant, two levels deep; no values."""
    if not isinstance(value, Mapping):
        return f"there stands {type(value).__name__} without names"
    names = []
    for name, inner in value.items():
        deeper = list(inner) if isinstance(inner, Mapping) else []
        names += [f"{name}.{part}" for part in deeper] or [str(name)]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"there are {', '.join(name[:40] for name in names[:_MOST_NAMES])}{more}"


def _at(value: Any, place: str) -> object:
    """What stands at a place; None where nothing does."""
    for part in _parts(place):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _parts(place: str) -> list[str]:
    """A JSON pointer (RFC 6901) or names joined by dots; none for `.`, the value itself."""
    if place == ".":
        return []
    if place.startswith("/"):
        return [part.replace("~1", "/").replace("~0", "~") for part in place[1:].split("/")]
    return place.split(".")
