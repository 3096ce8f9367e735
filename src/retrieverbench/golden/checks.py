"""Checks over all cases of a set: ids, parents, repeated questions, the scale of grades."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Sequence
from statistics import fmean

from retrieverbench.errors import plural
from retrieverbench.golden.faults import Faults, quote
from retrieverbench.golden.ids import warn_positional, warn_twins
from retrieverbench.model import GoldenCase

_ENOUGH = 5
"""Labels from which on equal grades say something about the scale."""


def check_set(cases: Sequence[GoldenCase], ids: Collection[str], faults: Faults) -> None:
    """Every check that needs more than one case of a canonical file.

    `ids` are those of all lines, of faulty ones too.
    """
    check_case_ids(cases, faults)
    _check_parents(cases, ids, faults)
    check_repeated_queries(cases, faults.error, faults)
    warn_scale(cases, faults)
    warn_positional(sorted({i for c in cases for i in c.relevant or c.grades or ()}), faults)
    sum_up_unknown(faults)


def check_case_ids(cases: Sequence[GoldenCase], faults: Faults) -> None:
    """Ids are unique in a set; those that differ only in case or normalisation are reported."""
    lines: dict[str, int] = {}
    for case in cases:
        earlier = lines.setdefault(case.id, case.line)
        if earlier != case.line:
            faults.error(
                "G10",
                f"id: {quote(case.id)} is already used in line {earlier}; ids are unique in a set",
                case.line,
            )
    warn_twins(lines.items(), faults)


def question_key(text: str) -> str:
    """A question's text as compared: Unicode form C, white space folded."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def check_repeated_queries(
    cases: Sequence[GoldenCase], conflict: Callable[[str, str, int], None], faults: Faults
) -> None:
    """One tenant's question asked twice: other labels call `conflict`, the same ones warn."""
    first: dict[tuple[str, str], GoldenCase] = {}
    for case in cases:
        other = first.setdefault((case.tenant.value, question_key(case.query)), case)
        if other is case:
            continue
        place = f"{quote(other.id)} (line {other.line})"
        if _label_key(other) == _label_key(case):
            text = f"query: repeats {place}; it counts twice in every mean"
            faults.warn("G29", text, case.line)
        else:
            conflict(
                "G28",
                f"query: same text as {place} with other relevant chunks; "
                "merge them or tell them apart",
                case.line,
            )


def warn_scale(cases: Sequence[GoldenCase], faults: Faults) -> None:
    """Warn of grades that are all equal, already exponential, or seem to run backwards."""
    labels = [g for c in cases for g in (c.grades or {}).values()]
    grades = sorted(set(labels))
    positive = [g for g in grades if g > 0]
    if not positive:
        return
    shown = ", ".join(map(str, grades))
    if len(grades) == 1 and grades[0] > 1 and len(labels) >= _ENOUGH:
        faults.warn(
            "G45", f"grades are all {shown}; nDCG sees no difference between them, check the scale"
        )
    elif max(positive) >= 8 and all(g & (g - 1) == 0 for g in positive):
        faults.warn(
            "G45",
            f"grades are {shown}: already exponential; "
            "with gain 2^g\u22121 they are counted twice, declare scale",
        )
    elif _looks_reversed(cases):
        faults.warn(
            "G45",
            f"grades are {shown}, and the listed chunks have lower ones than the others: "
            "the scale looks reversed, declare scale",
        )


def _looks_reversed(cases: Sequence[GoldenCase]) -> bool:
    listed: list[int] = []
    others: list[int] = []
    for case in cases:
        if case.relevant is None:
            continue
        for chunk_id, grade in (case.grades or {}).items():
            if grade > 0:
                (listed if chunk_id in case.relevant else others).append(grade)
    return bool(listed and others) and fmean(listed) < fmean(others)


def _label_key(case: GoldenCase) -> tuple[frozenset[str], frozenset[tuple[str, int]]]:
    relevant = frozenset(case.relevant or ())
    return relevant, frozenset((case.grades or {}).items())


def _check_parents(cases: Sequence[GoldenCase], ids: Collection[str], faults: Faults) -> None:
    by_id = {case.id: case for case in cases}
    for case in cases:
        if case.parent is None:
            continue
        if case.parent not in ids:
            faults.error(
                "G27",
                f"parent: {quote(case.parent)} is not in this set; name a case of it",
                case.line,
            )
            continue
        chain = _chain(case, by_id)
        if chain[-1] == case.id:
            faults.error(
                "G27",
                f"parent: {quote(case.parent)} leads back to this case "
                f"({' → '.join(map(quote, chain))}); name the original",
                case.line,
            )


def _chain(case: GoldenCase, by_id: dict[str, GoldenCase]) -> list[str]:
    """The case's ancestors, up to one without parent or the first that repeats."""
    chain = [case.id]
    current: GoldenCase | None = case
    while current is not None and current.parent is not None:
        chain.append(current.parent)
        if current.parent in chain[:-1]:
            break
        current = by_id.get(current.parent)
    return chain


def sum_up_unknown(faults: Faults) -> None:
    """Say how much is lost when several labels name chunks that do not exist."""
    labels, cases = faults.count("G14")
    if labels > 1:
        faults.error(
            "G14",
            f"{plural(labels, 'label')} of {plural(cases, 'case')} are not in the corpus; "
            "see the lines named",
        )
