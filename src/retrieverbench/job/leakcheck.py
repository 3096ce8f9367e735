"""After the measurements: texts, canaries in the target's own place, totals, the control arm."""

from __future__ import annotations

from dataclasses import replace

from retrieverbench.job.context import Job, other_place, settings_for
from retrieverbench.job.progress import counting
from retrieverbench.job.state import EntryState
from retrieverbench.leaks import (
    CanaryResult,
    ControlResult,
    CorpusLedger,
    TextResult,
    TotalResult,
    ask_control,
    ask_texts,
    ask_total,
    ask_unfiltered_total,
    control_cases,
    control_chunks,
    control_tenant,
    make_canaries,
    probe_canaries,
    questions_for_texts,
    total_question,
)
from retrieverbench.model import TenantId
from retrieverbench.run import Place, build_queries, is_loaded, open_place
from retrieverbench.storage import stored


async def check_leaks(job: Job, state: EntryState, place: Place) -> None:
    """Fill in `state.texts`, `state.canaries`, `state.totals` and `state.control`, mode by mode.

    A target that cannot be written to gets texts and totals alone, and its leak columns say so.
    Raises BackendError when the backend fails at it.
    """
    options = job.prepared.suite.leaks
    is_written = is_loaded(state.entry, place.loaded)
    if len(job.prepared.chunks_per_tenant) > 1:
        await _texts(job, state, place)
    if options.canaries and is_written:
        await _canaries(job, state, place)
    if "total" in place.loaded.cls.capabilities and len(job.prepared.chunks_per_tenant) > 1:
        await _totals(job, state, place)
    if options.control and is_written:
        await _control(job, state, place)


async def _texts(job: Job, state: EntryState, place: Place) -> None:
    """Some questions of each mode once more, with texts, which no measured request asked for."""
    suite, cases = job.prepared.suite, job.prepared.cases
    chosen = questions_for_texts(len(cases), suite.seed)
    for mode, run in state.runs.items():
        found = state.texts[mode] = TextResult(
            findings=state.findings.setdefault(mode, []), totals=state.told_totals.get(mode)
        )
        await ask_texts(
            place.adapter,
            [cases[number] for number in chosen],
            [state.queries[mode][number] for number in chosen],
            job.ledger,
            stored(job.prepared.corpus.chunks).owners_of_text,
            target=run.target.label,
            timeout=suite.timeout,
            into=found,
            keys=place.keys,
        )


async def _canaries(job: Job, state: EntryState, place: Place) -> None:
    suite = job.prepared.suite
    tenants = [TenantId(name) for name in sorted(job.prepared.chunks_per_tenant)]
    canaries = make_canaries(tenants, job.dimension)
    chunks = [canary.chunk for canary in canaries]
    await place.add(chunks, private=[canary.token for canary in canaries])
    state.canary_chunks = chunks
    corpus = stored(job.chunks)
    ledger = CorpusLedger(corpus, chunks)
    for mode, run in state.runs.items():
        advance = job.progress.begin(f"{run.target.label}: canaries", len(canaries), "canaries")
        found = state.canaries[mode] = CanaryResult()
        try:
            await probe_canaries(
                place.adapter,
                canaries,
                ledger,
                target=run.target.label,
                mode=mode,
                k=suite.depth,
                timeout=suite.timeout,
                into=found,
                texts=corpus.owners_of_text,
                on_done=counting(advance),
            )
        finally:
            for tenant, total in found.totals:
                state.told_totals[mode].judge(tenant, total, "in a canary's words", further=1)


async def _totals(job: Job, state: EntryState, place: Place) -> None:
    """One question per mode, of the tenant with the fewest chunks."""
    suite = job.prepared.suite
    cases = control_cases(job.prepared.cases, suite.seed)
    counts = job.prepared.chunks_per_tenant
    asker = min(counts, key=lambda tenant: (counts[tenant], tenant))
    ledger = CorpusLedger(stored(job.chunks), state.canary_chunks)
    own = counts[asker] + sum(c.tenant.value == asker for c in state.canary_chunks)
    for mode, run in state.runs.items():
        (query,) = build_queries(cases[:1], job.vectors, mode, suite.depth)
        asked = total_question(query, TenantId(asker), [case.query for case in cases])
        state.totals[mode] = TotalResult(asked, own, state.entry.declares.global_totals)
        await ask_total(
            place.adapter,
            ledger,
            target=run.target.label,
            timeout=suite.timeout,
            into=state.totals[mode],
            keys=place.keys,
        )


async def _control(job: Job, state: EntryState, place: Place) -> None:
    suite = job.prepared.suite
    cases = control_cases(job.prepared.cases, suite.seed)
    owner = control_tenant(job.prepared.chunks_per_tenant)
    chunks = control_chunks(job.chunks, cases, suite.seed, owner)
    settings = replace(
        settings_for(job, state, place.connection), place=other_place(state), resume=False
    )
    advance = job.progress.begin(f"{state.entry.name}: control arm", len(chunks), "chunks")
    opened = open_place(state.entry, place.loaded, place.connection, settings, chunks, advance)
    async with opened as control:
        for mode, run in state.runs.items():
            state.control[mode] = ControlResult()
            await ask_control(
                control.adapter,
                chunks,
                cases,
                build_queries(cases, job.vectors, mode, suite.depth),
                job.ledger,
                target=run.target.label,
                timeout=suite.timeout,
                into=state.control[mode],
            )
            if mode in state.totals:
                await ask_unfiltered_total(
                    control.adapter, owner, timeout=suite.timeout, into=state.totals[mode]
                )
