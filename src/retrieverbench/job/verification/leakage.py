"""The leak columns, put together again from the answers and from what they count themselves."""

from __future__ import annotations

from collections.abc import Iterator

from retrieverbench.job.assemble import distinct_questions, timed_counts
from retrieverbench.job.verification.differences import Fault, compare
from retrieverbench.leaks import (
    ASKERS_PER_CANARY,
    CONTROL_CASES,
    MAX_KEPT_FINDINGS,
    CanaryResult,
    ControlResult,
    CorpusLedger,
    TimedCounts,
    check_result,
    leak_columns,
)
from retrieverbench.model import (
    Corpus,
    GoldenSet,
    LeakCheck,
    LeakFinding,
    Run,
    TargetResult,
)
from retrieverbench.run import Suite
from retrieverbench.storage import stored


def leak_faults(
    result: TargetResult, run: Run, suite: Suite, golden: GoldenSet, corpus: Corpus
) -> Iterator[Fault]:
    """Columns that do not follow from one another, from the answers or from the suite.

    Taken as told are the answers of the passes that an artifact does not keep, and all texts:
    how many hits they had, how many owners found their canary, what the control arm showed.
    They are bounded by what was asked.
    """
    leaks = result.leaks
    if leaks is None:
        return
    yield from _finding_faults(result, leaks, golden, corpus)
    if len(leaks.findings) >= MAX_KEPT_FINDINGS:
        return  # more were counted than are kept
    tenants = len(stored(corpus.chunks).per_tenant)
    yield from _asked_faults(leaks, suite, tenants)
    control = None
    if leaks.control_foreign is not None:
        findings = [finding for finding in leaks.findings if finding.seen_in == "control"]
        asked = min(CONTROL_CASES, len(golden.cases))
        if not 0 <= leaks.control_foreign <= asked * result.depth:
            most = asked * result.depth
            yield Fault("leaks.control_foreign", leaks.control_foreign, f"0 to {most} were shown")
        control = ControlResult(asked, 0, leaks.control_foreign, findings)
    passes = _passes(result, run, golden, leaks)
    yield from _bound_faults(result, leaks, passes)
    timed, canaries = passes
    again = leak_columns(
        run,
        [f for f in leaks.findings if f.seen_in in {"quality", "text", "timed", "get"}],
        timed=timed,
        canaries=canaries,
        control=control,
        totals=[finding for finding in leaks.findings if finding.seen_in == "total"],
        side_channel=leaks.side_channel,
        tenants=tenants,
        distinct=distinct_questions(golden.cases, run.results),
        stopped=leaks.reason if leaks.proof == "inconclusive" else None,
    )
    yield from compare("leaks", leaks, again, "by the counts and answers beside it")


def _passes(
    result: TargetResult, run: Run, golden: GoldenSet, leaks: LeakCheck
) -> tuple[TimedCounts, CanaryResult | None]:
    """What the timed pass and the canary probes must have counted for the columns to be so."""
    answers = sum((case.status == "ok") + bool(case.refused) for case in run.results)
    hits = sum(len(case.hits) + len(case.refused) for case in run.results)
    timed = timed_counts(result.timings)
    others = max(leaks.hits - hits, 0)
    if leaks.canaries_asked is None:
        return TimedCounts(timed.answers, others, timed.leaking), None
    owned = leaks.canaries_owned or 0
    canaries = CanaryResult(
        planned=owned,
        asked=leaks.canaries_asked,
        answered=(leaks.trials or 0) - distinct_questions(golden.cases, run.results),
        owned=owned,
        found_by_owner=leaks.canaries_found_by_owner or 0,
        answers=leaks.answers - answers - timed.answers,
        hits=others,
        findings=[finding for finding in leaks.findings if finding.seen_in == "canary"],
    )
    return timed, canaries


def _bound_faults(
    result: TargetResult, leaks: LeakCheck, passes: tuple[TimedCounts, CanaryResult | None]
) -> Iterator[Fault]:
    """Answers and hits that canaries and timed requests can have had."""
    timed, canaries = passes
    searches = answered = 0
    if canaries is not None:
        searches = canaries.asked + canaries.owned
        answered = canaries.answers
        least = searches if leaks.proof == "clean" else 0
        if not least <= canaries.answers <= searches:
            yield Fault("leaks.answers", leaks.answers, f"{searches} of {searches} canary searches")
        fewest = canaries.asked if leaks.proof == "clean" else 0
        if not fewest <= canaries.answered <= canaries.asked:
            yield Fault("leaks.trials", leaks.trials, f"those of {canaries.asked} canary searches")
    found = sum(len(case.hits) + len(case.refused) for case in result.results)
    most = found + result.depth * (timed.answers + answered)
    least = found + (canaries.found_by_owner if canaries else 0)
    # A refused answer may hold more hits than were asked for; a clean result has none of these.
    if leaks.proof == "clean" and not least <= leaks.hits <= most:
        yield Fault("leaks.hits", leaks.hits, f"{least} to {most} by the answers beside it")


def _asked_faults(leaks: LeakCheck, suite: Suite, tenants: int) -> Iterator[Fault]:
    """Canary searches that the corpus's tenants make, all of them where the result is clean."""
    counts = (leaks.canaries_asked, leaks.canaries_owned, leaks.canaries_found_by_owner)
    names = ("canaries_asked", "canaries_owned", "canaries_found_by_owner")
    most = (tenants * min(ASKERS_PER_CANARY, tenants - 1), tenants, tenants)
    for name, count, limit in zip(names, counts, most, strict=True):
        if (count is None) != (leaks.canaries_asked is None):
            yield Fault(f"leaks.{name}", count, "told just where canaries were asked for")
        if count is not None and not (limit if leaks.proof == "clean" else 0) <= count <= limit:
            yield Fault(f"leaks.{name}", count, f"{limit} with the tenants of the corpus")
    for name, asked in (("canaries", leaks.canaries_asked), ("control", leaks.control_foreign)):
        if asked is not None and not getattr(suite.leaks, name):
            field = "canaries_asked" if name == "canaries" else "control_foreign"
            yield Fault(f"leaks.{field}", asked, f"None: the suite says [leaks] {name} = false")
    if leaks.proof == "inconclusive" and not leaks.reason:
        yield Fault("leaks.reason", leaks.reason, "why the clean result is not proven")


def _finding_faults(
    result: TargetResult, leaks: LeakCheck, golden: GoldenSet, corpus: Corpus
) -> Iterator[Fault]:
    """Findings that the answers of the quality pass hold and the record does not, or reverse."""
    label = result.target.label
    ledger, tenants = CorpusLedger(stored(corpus.chunks)), {c.id: c.tenant for c in golden.cases}
    seen = {
        finding
        for case in result.results
        for finding in check_result(case, tenants[case.case_id], ledger, label)
    }
    told = {finding for finding in leaks.findings if finding.seen_in == "quality"}
    if told - seen or (seen - told and len(leaks.findings) < MAX_KEPT_FINDINGS):
        first = min(told ^ seen, key=_order)
        where = "not in the answers" if first in told else "absent, and in the answers"
        yield Fault(
            "leaks.findings",
            f"{first.uid} for case {first.case_id}",
            f"where it is {where}",
        )


def _order(finding: LeakFinding) -> tuple[str, int, str]:
    return finding.case_id, finding.rank, finding.uid
