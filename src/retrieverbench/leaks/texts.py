"""Questions of the golden set asked once more, with the texts of their answers.

Quality and time are measured without texts. An index that holds another tenant's text under an
own id shows it only to who asks for texts, as an application does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from retrieverbench.adapter import Adapter
from retrieverbench.errors import BackendError, plural
from retrieverbench.leaks.ledger import Ledger, TextOwners, foreign_hits, foreign_texts
from retrieverbench.leaks.totals import ToldTotals
from retrieverbench.model import GoldenCase, LeakFinding, Query
from retrieverbench.run import Abandoned, BadAnswer, one_line, read_response, search_once, uid_of

MOST_QUESTIONS = 100
MOST_FAILED = 3
"""In a row: a backend that is gone would let each question wait for its timeout."""
SEEN_IN = "text"


@dataclass(slots=True)
class TextResult:
    """What one mode showed when texts were asked for. `fault` is the first of `failed` errors.

    `totals` judges those that the answers bear.
    """

    asked: int = 0
    failed: int = 0
    fault: str = ""
    findings: list[LeakFinding] = field(default_factory=list)
    totals: ToldTotals | None = None

    @property
    def note(self) -> str:
        """What its reader should know; "" if nothing."""
        if not self.failed:
            return ""
        asked = plural(self.asked, "question")
        return (
            f"{self.failed} of {asked} asked once more for the texts of chunks failed, so that "
            f"those texts were not judged; the first error: {self.fault}"
        )


def questions_for_texts(count: int, seed: int) -> list[int]:
    """Which of `count` cases are asked once more: all of a small set, else drawn by seed."""
    return sorted(Random(seed).sample(range(count), min(count, MOST_QUESTIONS)))


async def ask_texts(
    adapter: Adapter,
    cases: Sequence[GoldenCase],
    queries: Sequence[Query],
    ledger: Ledger,
    texts: TextOwners,
    *,
    target: str,
    timeout: float,
    into: TextResult,
    keys: Mapping[str, str] | None = None,
) -> None:
    """Ask each query with `want = {"text"}`; ids and whole texts of others are findings.

    What is seen goes `into` a result of the caller's at once, but for what stands there
    already. A backend that sends no texts shows none; after MOST_FAILED failures in a row no
    more is asked. Raises Abandoned.
    """
    known_before = {_key(finding) for finding in into.findings}
    in_a_row = 0
    for case, query in zip(cases, queries, strict=True):
        if in_a_row == MOST_FAILED:
            return
        into.asked += 1
        in_a_row += 1
        asked = replace(query, want=frozenset({"text"}))
        hits = []
        try:
            answer = read_response(await search_once(adapter, asked, timeout), asked.k)
            hits, uids, in_a_row = answer.hits, [hit.uid for hit in answer.hits], 0
            total = answer.total
        except Abandoned:
            raise
        except BackendError as error:
            into.failed += 1
            into.fault = into.fault or one_line(error)
            known = ledger if keys is None else ()
            uids = error.shown(known) if isinstance(error, BadAnswer) else []
            total = error.total if isinstance(error, BadAnswer) else None
        if into.totals is not None:
            into.totals.judge(case.tenant, total, f"case {case.id!r}, with texts")
        uids = uids if keys is None else [uid_of(uid, keys) for uid in uids]
        named = {"target": target, "case_id": case.id}
        found = foreign_hits(uids, case.tenant, ledger, **named, seen_in=SEEN_IN)
        found += foreign_texts(hits, uids[: len(hits)], case.tenant, ledger, texts, **named)
        into.findings += [each for each in found if _key(each) not in known_before]


def _key(finding: LeakFinding) -> tuple[str, str, str]:
    return finding.case_id, finding.uid, finding.shown
