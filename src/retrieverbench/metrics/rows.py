"""Golden cases joined with what came back for them, all ids as uids."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from retrieverbench.errors import InputError
from retrieverbench.metrics.evaluate import Question
from retrieverbench.metrics.lists import read_list
from retrieverbench.model import CaseResult, GoldenCase, GoldenSet, Listing, Run, make_uid


@dataclass(frozen=True, slots=True)
class Row:
    """One case and its answer.

    `failure` is None for a valid answer, else `missing` or `error:<code>`. `grades` is the
    graded view without forbidden chunks, `listed` the explicit list, `relevant` the binary
    view that the set asks for. `forbidden` includes superseded chunks.
    """

    case: GoldenCase
    failure: str | None
    answer: Listing
    grades: Mapping[str, int]
    listed: frozenset[str] | None
    relevant: frozenset[str]
    forbidden: frozenset[str]

    @property
    def question(self) -> Question:
        """What the ranking metrics need of it."""
        if self.case.unanswerable:
            return Question(self.case.id, self.answer, {}, reason="unanswerable")
        if self.failure == "missing":
            return Question(self.case.id, None, self.grades, listed=self.listed)
        return Question(
            self.case.id, self.answer, self.grades, listed=self.listed, reason=self.failure
        )


def join(run: Run, golden: GoldenSet, superseded: Collection[str]) -> list[Row]:
    """A row for every case, sorted by its id so that the order of the file has no effect.

    Raises InputError when the run holds two results of one case.
    """
    results: dict[str, CaseResult] = {}
    for result in run.results:
        if result.case_id in results:
            raise InputError(f"run: case {result.case_id!r:.80} has two results; keep one")
        results[result.case_id] = result
    cases = sorted(golden.cases, key=lambda case: case.id)
    level = golden.relevance_level
    return [_row(case, results.get(case.id), run.depth, level, superseded) for case in cases]


def _row(
    case: GoldenCase,
    result: CaseResult | None,
    depth: int,
    level: int,
    superseded: Collection[str],
) -> Row:
    def uid(chunk: str) -> str:
        return make_uid(case.tenant, chunk)

    listed = None if case.relevant is None else frozenset(map(uid, case.relevant))
    grades = {uid(chunk): grade for chunk, grade in (case.grades or {}).items()}
    for chunk in listed or ():
        grades.setdefault(chunk, 1)
    relevant = listed
    if relevant is None:
        relevant = frozenset(chunk for chunk, grade in grades.items() if grade >= level)
    forbidden = frozenset(map(uid, case.forbidden)).union(case.forbidden_foreign)
    forbidden = forbidden.union(superseded) - relevant
    grades = {chunk: grade for chunk, grade in grades.items() if chunk not in forbidden}
    failure, answer = "missing", Listing()
    if result is not None and result.status == "ok":
        answer = read_list(result.hits[:depth])
        failure = "" if answer.finite else "error:bad_score"
    elif result is not None and result.status == "error":
        failure = f"error:{result.code or 'unknown'}"
    return Row(case, failure or None, answer, grades, listed, relevant, forbidden)
