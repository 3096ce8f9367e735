"""The metrics of one case: what was judged and what was returned in, one number out.

Every function takes a Ranking, the cut k (UNCUT for the whole list) and the switches of a
convention, and returns a float. Positions count from 1. Sums are correctly rounded.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import neg
from typing import Literal

from retrieverbench.errors import InputError
from retrieverbench.metrics.conventions import Rules
from retrieverbench.metrics.lists import first_places

UNCUT = sys.maxsize
Gain = Literal["linear", "exponential"]
ANY_GAIN = math.ulp(0.0)
"""The level at which every grade above 0 is relevant."""
_HOUSE = Rules()


@dataclass(slots=True)
class Ranking:
    """One list seen through its judgements.

    `returned` results; ascending positions of the `relevant` ones, of `total` in all;
    ascending positions of the `judged` ones, each with its grade; and `ideal`, the grades
    of all judged chunks in descending order.
    """

    returned: int
    relevant: list[int]
    total: int
    judged: list[tuple[int, float]]
    ideal: list[float]


def see(
    ids: Sequence[str] | dict[str, int],
    grades: Mapping[str, float],
    listed: Collection[str] | None = None,
    *,
    level: float = ANY_GAIN,
    repeats: bool = False,
    ideal: list[float] | None = None,
) -> Ranking:
    """Find the judged chunks in a list of ids; a repeated id earns again only on demand.

    Relevant are the `listed` chunks, a part of the graded ones; without a list, those with a
    grade of `level` or more. Of a list without repeated ids its `first_places` will do. `ideal`
    are the sorted grades, if at hand.

    >>> see(["x", "b", "a", "b"], {"a": 3, "b": 1}, {"a"})
    Ranking(returned=4, relevant=[3], total=1, judged=[(2, 1), (3, 3)], ideal=[3, 1])
    """
    if repeats:
        judged = [(place, grades[chunk]) for place, chunk in enumerate(ids, 1) if chunk in grades]
    else:
        places = ids if isinstance(ids, dict) else first_places(ids)
        judged = [(places[chunk], grade) for chunk, grade in grades.items() if chunk in places]
        judged.sort()
    ideal = sorted(grades.values(), reverse=True) if ideal is None else ideal
    if listed is None:
        relevant = [place for place, grade in judged if grade >= level]
        total = bisect_right(ideal, -level, key=neg)
    else:
        by_list = see(ids, dict.fromkeys(listed, 1), repeats=repeats)
        relevant, total = by_list.relevant, by_list.total
    return Ranking(len(ids), relevant, total, judged, ideal)


def precision(case: Ranking, k: int, rules: Rules = _HOUSE) -> float:
    """Relevant in the first k / k: results that are missing count as not relevant.

    >>> precision(see("ax", {"a": 1, "b": 1}), 5)
    0.2
    """
    over = k if rules.precision_over == "k" else min(k, case.returned)
    return bisect_right(case.relevant, k) / over if over else 0.0


def recall(case: Ranking, k: int, _: Rules = _HOUSE) -> float:
    """Relevant in the first k / R, over all relevant chunks of the case.

    >>> recall(see("axby", dict.fromkeys("abcd", 1)), 3)
    0.5
    """
    return bisect_right(case.relevant, k) / case.total if case.total else 0.0


def capped_recall(case: Ranking, k: int, _: Rules = _HOUSE) -> float:
    """Relevant in the first k / min(R, k): reaches 1 where R > k.

    >>> capped_recall(see("abx", dict.fromkeys("abcd", 1)), 2)
    1.0
    """
    return bisect_right(case.relevant, k) / min(case.total, k) if case.total else 0.0


def hit(case: Ranking, k: int, _: Rules = _HOUSE) -> float:
    """1 if any of the first k is relevant, else 0. Some call it Success@k.

    >>> hit(see("xa", {"a": 1}), 1), hit(see("xa", {"a": 1}), 2)
    (0.0, 1.0)
    """
    return 1.0 if case.relevant and case.relevant[0] <= k else 0.0


def mrr(case: Ranking, k: int, _: Rules = _HOUSE) -> float:
    """1 / position of the first relevant chunk within the first k, else 0.

    >>> mrr(see("xya", {"a": 1}), UNCUT), mrr(see("xya", {"a": 1}), 2)
    (0.3333333333333333, 0.0)
    """
    return 1.0 / case.relevant[0] if case.relevant and case.relevant[0] <= k else 0.0


def ap(case: Ranking, k: int, _: Rules = _HOUSE) -> float:
    """Sum of the precision at each relevant position within the first k / R.

    >>> ap(see("axb", dict.fromkeys("abcd", 1)), 2), ap(see("axb", {"a": 1, "b": 1}), UNCUT)
    (0.25, 0.8333333333333333)
    """
    within = case.relevant[: bisect_right(case.relevant, k)]
    precisions = (found / position for found, position in enumerate(within, 1))
    return math.fsum(precisions) / case.total if case.total else 0.0


def rprec(case: Ranking, _: int, rules: Rules = _HOUSE) -> float:
    """Relevant in the first R / R.

    >>> rprec(see("axb", {"a": 1, "b": 1}), UNCUT)
    0.5
    """
    return recall(case, case.total, rules)


def ndcg(case: Ranking, k: int, rules: Rules = _HOUSE) -> float:
    """DCG / ideal DCG, gain 2^grade - 1, discount log2(position + 1), both cut at k.

    >>> round(ndcg(see("cba", {"a": 3, "b": 2, "c": 1}), 3), 6)
    0.680606
    """
    return _normalised(case, k, rules, "exponential")


def ndcg_lin(case: Ranking, k: int, rules: Rules = _HOUSE) -> float:
    """DCG / ideal DCG with the grade itself as gain.

    >>> round(ndcg_lin(see("cba", {"a": 3, "b": 2, "c": 1}), 3), 6)
    0.789998
    """
    return _normalised(case, k, rules, "linear")


def judged_share(ids: Sequence[str], judged: Container[str], k: int) -> float | None:
    """Judged ids in the first k / results in the first k; None for an empty list.

    >>> judged_share("axy", {"a"}, 2)
    0.5
    """
    top = ids[:k]
    return sum(map(judged.__contains__, top)) / len(top) if top else None


def _normalised(case: Ranking, k: int, rules: Rules, gain: Gain) -> float:
    judged, ideal = case.judged, case.ideal
    if rules.gain == "binary":
        judged, ideal = [(position, 1.0) for position in case.relevant], [1.0] * case.total
    if rules.ideal != "uncut":
        ideal = ideal[: k if rules.ideal == "cut" else min(k, case.returned)]
    if rules.negative == "error_if_used":
        used = [grade for position, grade in judged if position <= k]
        if min(*used, *ideal, 0, 0) < 0:
            raise InputError("grades: one is negative, which this convention's nDCG refuses")
    best = _best_dcg(tuple(ideal), gain)
    return _dcg(judged, k, gain) / best if best else 0.0


def _dcg(judged: Iterable[tuple[int, float]], k: int, gain: Gain) -> float:
    """The sum of each gain / log2(position + 1) within the first k."""
    if gain == "exponential":
        judged = [(place, math.pow(2.0, grade) - 1.0) for place, grade in judged if place <= k]
    return math.fsum([earned / math.log2(place + 1) for place, earned in judged if place <= k])


@lru_cache(maxsize=1024)
def _best_dcg(ideal: tuple[float, ...], gain: Gain) -> float:
    """The DCG of an ideal list. Grades are few, so that many cases have the same one."""
    return _dcg(enumerate(ideal, 1), UNCUT, gain)


Function = Callable[[Ranking, int, Rules], float]
FUNCTIONS: Mapping[str, Function] = {
    "precision": precision,
    "recall": recall,
    "capped_recall": capped_recall,
    "hit": hit,
    "mrr": mrr,
    "ndcg": ndcg,
    "ndcg_lin": ndcg_lin,
    "ap": ap,
    "rprec": rprec,
}
