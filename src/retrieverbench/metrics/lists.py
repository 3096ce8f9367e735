"""A returned list: its order, its repeated ids, its ties."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from retrieverbench.errors import InputError
from retrieverbench.metrics.conventions import Order, Rules

Hits = Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class ListCheck:
    """What is unusual about a list of (id, score), best first.

    `finite` is False for a NaN or infinite score. `ordered` is False when a score is
    larger than the one before it. `repeated` counts ids after their first occurrence.
    """

    finite: bool = True
    ordered: bool = True
    repeated: int = 0
    tied: bool = False


CLEAN = ListCheck()


def check(hits: Hits) -> ListCheck:
    """Look at a list without changing it.

    >>> check([("a", 2.0), ("b", 1.0), ("a", 1.0)])
    ListCheck(finite=True, ordered=True, repeated=1, tied=True)
    """
    if not hits:
        return CLEAN
    ids, scores = zip(*hits, strict=True)
    if not math.isfinite(sum(scores)) and not all(map(math.isfinite, scores)):
        return ListCheck(finite=False)
    repeated = len(ids) - len(set(ids))
    ordered = sorted(scores, reverse=True) == list(scores)
    tied = len(set(scores)) < len(scores)
    if not ordered:
        tied = any(a == b for a, b in pairwise(scores))
    return ListCheck(True, ordered, repeated, tied) if repeated or tied or not ordered else CLEAN


def arrange(hits: Hits, rules: Rules) -> list[str]:
    """The ids in the order in which a convention reads the list.

    Raises InputError where the convention's system stops: at a repeated id, at a score
    that is no finite number, at white space in an id.
    """
    if rules.repeats == "last":
        hits = list(dict(hits).items())
    ids = [chunk for chunk, _ in hits]
    if rules.repeats == "error" and len(set(ids)) < len(ids):
        raise InputError("run: an id is returned twice, where this convention's system stops")
    if rules.blanks_in_ids_stop and any(len(chunk.split()) != 1 for chunk in ids):
        raise InputError("run: an id holds white space, which this convention's files cannot")
    return ids if rules.order == "list" else _sorted(ids, [s for _, s in hits], rules.order)


def _sorted(ids: Sequence[str], scores: Sequence[float], order: Order) -> list[str]:
    if not all(map(math.isfinite, scores)):
        raise InputError("run: a score is NaN or infinite and cannot be sorted")
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
