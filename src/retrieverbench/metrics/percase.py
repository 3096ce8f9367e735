"""The metrics of one case: what was judged and what was returned in, one number out.

Every function takes a Ranking, the cut k (UNCUT for the whole list) and the switches of a
convention, and returns a float. Positions count from 1. Sums are correctly rounded.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from retrieverbench.errors import InputError
from retrieverbench.metrics.conventions import Rules

UNCUT = sys.maxsize
_LOG2 = (math.nan, *(math.log2(position + 1) for position in range(1, 1001)))
_HOUSE = Rules()


@dataclass(slots=True)
class Ranking:
    """One list seen through its judgements.

    `returned` results; ascending positions of the `relevant` ones, of `total` in all;
    (position, grade) of those with a grade other than 0; and `ideal`, the grades of all
    judged chunks in descending order.
    """

    returned: int
    relevant: list[int]
    total: int
    graded: list[tuple[int, float]]
    ideal: Sequence[float]


def see(
    ids: Sequence[str],
    relevant: Collection[str],
    grades: Mapping[str, float],
    *,
    repeats: bool = False,
) -> Ranking:
    """Find the judged chunks in a list of ids; a repeated id earns again only on demand.

    `relevant` is the binary view, `grades` the graded one; they may differ.

    >>> see(["x", "b", "a", "b"], {"a"}, {"a": 3, "b": 1})
    Ranking(returned=4, relevant=[3], total=1, graded=[(2, 1), (3, 3)], ideal=[3, 1])
    """
    found = [
        (position, chunk)
        for position, chunk in enumerate(ids, 1)
        if chunk in grades or chunk in relevant
    ]
    if not repeats and len({chunk for _, chunk in found}) < len(found):
        first = {chunk: position for position, chunk in reversed(found)}
        found = [(position, chunk) for position, chunk in found if first[chunk] == position]
    return Ranking(
        len(ids),
        [position for position, chunk in found if chunk in relevant],
        len(relevant),
        [(position, grade) for position, chunk in found if (grade := grades.get(chunk, 0))],
        sorted(grades.values(), reverse=True),
    )


def precision(case: Ranking, k: int, rules: Rules = _HOUSE) -> float:
    """Relevant in the first k / k: results that are missing count as not relevant.

    >>> precision(see("ax", {"a", "b"}, {}), 5)
    0.2
    """
    over = k if rules.precision_over == "k" else min(k, case.returned)
    return bisect_right(case.relevant, k) / over if over else 0.0


def recall(case: Ranking, k: int, _: Rules = _HOUSE) -> float:
    """Relevant in the first k / R, over all relevant chunks of the case.

    >>> recall(see("axby", {"a", "b", "c", "d"}, {}), 3)
    0.5
    """
    return bisect_right(case.relevant, k) / case.total if case.total else 0.0


def capped_recall(case: Ranking, k: int, _: Rules = _HOUSE) -> float:
    """Relevant in the first k / min(R, k): reaches 1 where R > k.

    >>> capped_recall(see("abx", {"a", "b", "c", "d"}, {}), 2)
    1.0
    """
    return bisect_right(case.relevant, k) / min(case.total, k) if case.total else 0.0


def hit(case: Ranking, k: int, _: Rules = _HOUSE) -> float:
    """1 if any of the first k is relevant, else 0. Some call it Success@k.

    >>> hit(see("xa", {"a"}, {}), 1), hit(see("xa", {"a"}, {}), 2)
    (0.0, 1.0)
    """
    return 1.0 if case.relevant and case.relevant[0] <= k else 0.0


def mrr(case: Ranking, k: int, _: Rules = _HOUSE) -> float:
    """1 / position of the first relevant chunk within the first k, else 0.

    >>> mrr(see("xya", {"a"}, {}), UNCUT), mrr(see("xya", {"a"}, {}), 2)
    (0.3333333333333333, 0.0)
    """
    return 1.0 / case.relevant[0] if case.relevant and case.relevant[0] <= k else 0.0


def ap(case: Ranking, k: int, _: Rules = _HOUSE) -> float:
    """Sum of the precision at each relevant position within the first k / R.

    >>> ap(see("axb", {"a", "b", "c", "d"}, {}), 2), ap(see("axb", {"a", "b"}, {}), UNCUT)
    (0.25, 0.8333333333333333)
    """
    within = case.relevant[: bisect_right(case.relevant, k)]
    precisions = (found / position for found, position in enumerate(within, 1))
    return math.fsum(precisions) / case.total if case.total else 0.0


def rprec(case: Ranking, _: int, rules: Rules = _HOUSE) -> float:
    """Relevant in the first R / R.

    >>> rprec(see("axb", {"a", "b"}, {}), UNCUT)
    0.5
    """
    return recall(case, case.total, rules)


def ndcg(case: Ranking, k: int, rules: Rules = _HOUSE) -> float:
    """DCG / ideal DCG, gain 2^grade - 1, discount log2(position + 1), both cut at k.

    >>> round(ndcg(see("cba", {"a"}, {"a": 3, "b": 2, "c": 1}), 3), 6)
    0.680606
    """
    return _normalised(case, k, rules, exponential)


def ndcg_lin(case: Ranking, k: int, rules: Rules = _HOUSE) -> float:
    """DCG / ideal DCG with the grade itself as gain.

    >>> round(ndcg_lin(see("cba", {"a"}, {"a": 3, "b": 2, "c": 1}), 3), 6)
    0.789998
    """
    return _normalised(case, k, rules, linear)


Gain = Callable[[float], float]


def exponential(grade: float) -> float:
    """2^grade - 1."""
    return math.pow(2.0, grade) - 1.0


def linear(grade: float) -> float:
    """The grade."""
    return grade


def dcg(graded: Iterable[tuple[int, float]], k: int, gain: Gain) -> float:
    """Sum of gain(grade) / log2(position + 1) over the positions up to k."""
    return math.fsum(
        gain(grade) / (_LOG2[position] if position < len(_LOG2) else math.log2(position + 1))
        for position, grade in graded
        if position <= k
    )


def _normalised(case: Ranking, k: int, rules: Rules, gain: Gain) -> float:
    graded: Sequence[tuple[int, float]] = case.graded
    ideal = case.ideal
    if rules.gain == "binary":
        graded = [(position, 1.0) for position in case.relevant]
        ideal = [1.0] * case.total
    ideal_cut = k
    if rules.ideal == "uncut":
        ideal_cut = UNCUT
    elif rules.ideal == "returned":
        ideal_cut = min(k, case.returned)
    if rules.negative == "error_if_used" and (
        any(grade < 0 for position, grade in graded if position <= k)
        or any(grade < 0 for grade in ideal[:ideal_cut])
    ):
        raise InputError("grades: a grade is negative, which this convention's nDCG refuses")
    best = dcg(enumerate(ideal, 1), ideal_cut, gain)
    return dcg(graded, k, gain) / best if best else 0.0


FUNCTIONS: Mapping[str, Callable[[Ranking, int, Rules], float]] = {
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
