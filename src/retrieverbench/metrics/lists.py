"""A returned list: its order, its repeated ids, its ties."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Sequence

from retrieverbench.errors import InputError
from retrieverbench.metrics.conventions import Order, Rules
from retrieverbench.model import Listing

_BLANK = re.compile(r"[ \t-\r]")
"""What C calls white space; other blanks of Unicode are letters to it."""

Hits = Sequence[tuple[str, float]]


def read_list(hits: Hits | Listing) -> Listing:
    """A list of pairs as two columns, in its order.

    >>> read_list([("a", 2.0), ("b", 1.0)]).ids
    ('a', 'b')
    """
    return hits if isinstance(hits, Listing) else Listing(*zip(*hits, strict=True))


def plain_places(hits: Hits | Listing) -> dict[str, int] | None:
    """The place of each id, counted from 1, if nothing about a list is unusual.

    None, if an id is repeated or a score is not smaller than the one before it or no finite
    number. A list of pairs is looked at in one pass: its two columns are slower to make.

    >>> plain_places([("a", 2.0), ("b", 1.0)]), plain_places([("a", 2.0), ("b", 2.0)])
    ({'a': 1, 'b': 2}, None)
    """
    if isinstance(hits, Listing):
        if hits.tied or not hits.ordered or not hits.finite:
            return None
        places = first_places(hits.ids)
        return places if len(places) == len(hits.ids) else None
    places = {}
    place, last = 0, math.inf
    for chunk, score in hits:
        if score < last:  # never true of a NaN
            last = score
            place += 1
            places[chunk] = place
        else:
            return None
    return places if len(places) == place and last > -math.inf else None


def first_places(ids: Sequence[str]) -> dict[str, int]:
    """The place of each id, counted from 1; of a repeated one the first.

    >>> first_places("abca")
    {'a': 1, 'b': 2, 'c': 3}
    """
    places = {chunk: place for place, chunk in enumerate(ids, 1)}
    if len(places) < len(ids):
        places.update(zip(reversed(ids), range(len(ids), 0, -1), strict=True))
    return places


def arrange(listing: Listing, rules: Rules) -> Sequence[str]:
    """The ids in the order in which a convention reads them.

    Raises InputError where the convention's system stops: at a repeated id, at a score
    that is no finite number, at white space in an id.
    """
    ids, scores = listing.ids, listing.scores
    if rules.repeats == "error" and listing.repeated:
        raise InputError("run: an id is returned twice, where its system stops")
    if rules.repeats == "last" and listing.repeated:
        last = dict(zip(ids, scores, strict=True))
        ids, scores = list(last), list(last.values())
    if rules.blanks_in_ids_stop and not (all(ids) and _BLANK.search("".join(ids)) is None):
        raise InputError("run: an id holds white space, where its system stops")
    if rules.order == "list":
        return ids
    if not listing.finite:
        raise InputError("run: a score is NaN or infinite and cannot be sorted")
    return _sorted(ids, scores, rules.order)


def _sorted(ids: Sequence[str], scores: Sequence[float], order: Order) -> list[str]:
    if order == "trec32":
        scores = array("f", scores)
    rows = list(zip(scores, ids, strict=True))
    if order in {"trec", "trec32"}:  # code-point order of ids is the order of their bytes
        rows.sort(reverse=True)
    elif order == "score_id_asc":
        rows.sort(key=lambda row: (-row[0], row[1]))
    else:
        rows.sort(key=lambda row: -row[0])
    return [chunk for _, chunk in rows]
