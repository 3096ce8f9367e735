"""What is asked of a loaded target: quality, times, its plan, what it is, leaks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial

from retrieverbench.errors import BackendError, RetrieverBenchError
from retrieverbench.job.context import Job
from retrieverbench.job.leakcheck import check_leaks
from retrieverbench.job.progress import counting
from retrieverbench.job.state import EntryState
from retrieverbench.job.timing import closed_plan, is_repeatable, repeated, take_noise
from retrieverbench.leaks import ToldTotals, check_result, foreign_texts
from retrieverbench.load import Subject, TimedResult, measure_closed
from retrieverbench.model import CaseResult, LeakFinding, Mode, Plan, Response, Run
from retrieverbench.remote import hide_secrets
from retrieverbench.run import Abandoned, Place, ask_all, build_queries, one_line, text_of, uid_of
from retrieverbench.storage import stored


async def ask_quality(job: Job, state: EntryState) -> None:
    """Every case once per mode, each answer judged for leaks as it comes."""
    place = state.usable
    if place is None:
        return
    suite = job.prepared.suite
    cases = job.prepared.cases
    first: dict[Mode, BackendError] = {}
    for mode in state.modes:
        target = state.target(mode)
        advance = job.progress.begin(f"{target.label}: quality", len(cases), "questions")
        state.findings.setdefault(mode, []).extend(_misplaced(target.label, place))
        state.queries[mode] = build_queries(cases, job.vectors, mode, suite.depth)
        try:
            state.runs[mode] = await ask_all(
                place.adapter,
                target,
                cases,
                state.queries[mode],
                fidelity=place.fidelity,
                concurrency=suite.concurrency,
                timeout=suite.timeout,
                on_done=_checking(job, state, mode, counting(advance)),
                hidden=place.hidden,
                keys=place.keys,
                known=job.ledger if place.keys is None else (),
                on_answer=_checking_answers(job, state, mode, place.keys or {}),
                on_error=partial(first.setdefault, mode),
            )
        except Abandoned as error:
            _lose(job, state, error)
            return
        if mode in first and not any(r.status == "ok" for r in state.runs[mode].results):
            state.unanswered[mode] = _unanswered(first[mode], len(cases), place.hidden)
            job.progress.note(f"{target.label}: {state.unanswered[mode].reason}")


def _misplaced(label: str, place: Place) -> Iterator[LeakFinding]:
    """Chunks that an index of the user's gave to others by id, as it was looked at."""
    for each in place.misplaced:
        yield LeakFinding(
            *(label, "a chunk by its id", each.shown_to, each.uid, 1, each.owner, "get"),
            hint=each.told,
        )


def _unanswered(first: BackendError, asked: int, hidden: Sequence[str]) -> BackendError:
    """Why no question was answered, as the first error says; nothing that was asked is absent."""
    reason, remedy = (
        one_line(hide_secrets(text, hidden))
        for text in (text_of(first), first.remedy or first.advice)
    )
    reason = reason.removesuffix(f"; {remedy}")
    told = f"none of {asked} questions was answered; the first error: {reason}"
    return BackendError(told, code=first.code, remedy=remedy)


def _checking(
    job: Job, state: EntryState, mode: Mode, count: Callable[..., None]
) -> Callable[[CaseResult], None]:
    """Judges each answer as it comes, so that an interrupt loses no leak that was seen."""
    tenants = {case.id: case.tenant for case in job.prepared.cases}
    label = state.target(mode).label
    findings = state.findings.setdefault(mode, [])

    def check(result: CaseResult) -> None:
        findings.extend(check_result(result, tenants[result.case_id], job.ledger, label))
        count()

    return check


def _checking_answers(
    job: Job, state: EntryState, mode: Mode, keys: Mapping[str, str]
) -> Callable[[str, Response], None]:
    """Judges the texts and the total that an answer bears, though none was asked for."""
    tenants = {case.id: case.tenant for case in job.prepared.cases}
    label = state.target(mode).label
    findings = state.findings.setdefault(mode, [])
    texts = stored(job.prepared.corpus.chunks).owners_of_text
    counts, accepted = job.prepared.chunks_per_tenant, state.entry.declares.global_totals
    totals = state.told_totals.setdefault(mode, ToldTotals(counts, accepted))

    def check(case_id: str, answer: Response) -> None:
        hits, tenant = answer.hits, tenants[case_id]
        totals.judge(tenant, answer.total, f"case {case_id!r}")
        uids = [uid_of(hit.uid, keys) if keys else hit.uid for hit in hits]
        findings.extend(
            foreign_texts(hits, uids, tenant, job.ledger, texts, target=label, case_id=case_id)
        )

    return check


async def ask_timed(job: Job, states: list[EntryState]) -> None:
    """Blocks of all targets interleaved; only of those that answered the quality pass."""
    timing = job.prepared.suite.timing
    if not timing.enabled:
        return
    subjects: list[Subject] = []
    owners = []
    for state in states:
        for mode, run in state.runs.items():
            place = state.usable
            if place is None or not any(result.status == "ok" for result in run.results):
                continue
            subjects.append(
                Subject(
                    run.target.label,
                    place.adapter.search,
                    state.queries[mode],
                    _expected(job, run),
                    place.keys,
                    reference=[r.hits if r.status == "ok" else None for r in run.results],
                )
            )
            owners.append((state, mode, run.target.label))
    if not subjects:
        return
    if is_repeatable(job.prepared.suite):
        subjects.append(
            repeated(subjects, [state.runs[mode].fidelity for state, mode, _ in owners])
        )
    plan = closed_plan(job.prepared.suite)
    advance = job.progress.begin("timed pass", len(subjects) * (timing.rounds + 1), "blocks")
    results: dict[str, TimedResult] = {}
    try:
        await measure_closed(subjects, plan, job.ledger, counting(advance), into=results)
    finally:
        job.noise = take_noise(results)
        for state, mode, label in owners:
            if label in results:
                _keep_timed(job, state, mode, results[label])


def _keep_timed(job: Job, state: EntryState, mode: Mode, found: TimedResult) -> None:
    state.timed[mode] = found
    for index, total in found.totals.items():
        case = job.prepared.cases[index]
        state.told_totals[mode].judge(case.tenant, total, f"case {case.id!r}, timed")
    if found.abandoned is not None:
        _lose(job, state, found.abandoned)


def _expected(job: Job, run: Run) -> list[int]:
    """Rows of a complete answer to each case: k, or as many chunks as the tenant has.

    How many chunks match words only the backend knows; there it is what it returned in the
    quality pass.
    """
    if run.target.mode == "lexical":
        return [len(result.hits) for result in run.results]
    counts = job.prepared.chunks_per_tenant
    return [min(run.depth, counts.get(case.tenant.value, 0)) for case in job.prepared.cases]


async def explain_target(job: Job, state: EntryState) -> None:
    """The backend's own plan of one query that it answered, by mode; after the timed pass."""
    place = state.usable
    if place is None or "explain" not in place.loaded.cls.capabilities:
        return
    for mode, run in state.runs.items():
        answered = (
            query
            for query, result in zip(state.queries[mode], run.results, strict=True)
            if result.hits
        )
        query = next(answered, None)
        if query is None:
            continue
        try:
            await keep_plan(state, mode, partial(place.explain, query))
        except Abandoned as error:
            _lose(job, state, error)
            return


async def keep_plan(state: EntryState, mode: Mode, ask: Callable[[], Awaitable[Plan]]) -> None:
    """The plan of one query in a mode, or a note why there is none; raises Abandoned alone."""
    try:
        state.plans[mode] = await ask()
    except Abandoned:
        raise
    except RetrieverBenchError as error:
        state.notes.append(f"{mode}: its plan could not be had: {one_line(error)}")


async def describe_again(job: Job, state: EntryState) -> None:
    """What is there after the passes, to be compared with what was there before."""
    place = state.usable
    if place is None:
        return
    try:
        state.after = await place.describe()
    except Abandoned as error:
        _lose(job, state, error)
    except RetrieverBenchError as error:
        state.late_failure = f"could not be described after the run: {one_line(error)}"


async def look_for_leaks(job: Job, state: EntryState) -> None:
    """Canaries and the control arm; nothing here may lose what was measured before."""
    place = state.usable
    if place is None:
        return
    try:
        await check_leaks(job, state, place)
    except RetrieverBenchError as error:
        state.probes_stopped = f"leak probes stopped: {one_line(error)}"
        state.late_failure = state.late_failure or state.probes_stopped


def _lose(job: Job, state: EntryState, error: Abandoned) -> None:
    """Its adapter holds a call that never ends: nothing more is asked, what is known is kept."""
    text = one_line(error)
    state.is_gone = True
    state.unmeasured |= {mode: error for mode in state.modes if mode not in state.runs}
    state.late_failure = state.late_failure or text
    state.probes_stopped = state.probes_stopped or f"leak probes stopped: {text}"
    job.progress.note(f"{state.entry.name}: given up: {text}")
