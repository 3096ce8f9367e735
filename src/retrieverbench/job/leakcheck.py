"""After the measurements: canaries in the target's own place, and the unfiltered control arm."""

from __future__ import annotations

from retrieverbench.job.context import Job, settings_for
from retrieverbench.job.progress import counting
from retrieverbench.job.state import EntryState
from retrieverbench.leaks import (
    CanaryResult,
    ControlResult,
    ask_control,
    control_cases,
    control_chunks,
    make_canaries,
    make_ledger,
    probe_canaries,
    text_owners,
)
from retrieverbench.model import TenantId
from retrieverbench.run import Place, build_queries, is_loaded, open_place


async def check_leaks(job: Job, state: EntryState, place: Place) -> None:
    """Fill in `state.canaries` and `state.control`, mode by mode.

    A target that cannot be written to gets neither, and its leak columns say so. Raises
    BackendError when the backend fails at it.
    """
    if not is_loaded(state.entry, place.loaded):
        return
    options = job.prepared.suite.leaks
    if options.canaries:
        await _canaries(job, state, place)
    if options.control:
        await _control(job, state, place)


async def _canaries(job: Job, state: EntryState, place: Place) -> None:
    suite = job.prepared.suite
    tenants = [TenantId(name) for name in sorted(job.prepared.chunks_per_tenant)]
    canaries = make_canaries(tenants, job.dimension)
    chunks = [canary.chunk for canary in canaries]
    await place.add(chunks, private=[canary.token for canary in canaries])
    ledger = {**job.ledger, **make_ledger(chunks)}
    texts = text_owners(job.chunks)
    for mode, run in state.runs.items():
        advance = job.progress.begin(f"{run.target.label}: canaries", len(canaries), "canaries")
        state.canaries[mode] = CanaryResult()
        await probe_canaries(
            place.adapter,
            canaries,
            ledger,
            target=run.target.label,
            mode=mode,
            k=suite.depth,
            timeout=suite.timeout,
            into=state.canaries[mode],
            texts=texts,
            on_done=counting(advance),
        )


async def _control(job: Job, state: EntryState, place: Place) -> None:
    suite = job.prepared.suite
    cases = control_cases(job.prepared.cases, suite.seed)
    chunks = control_chunks(job.chunks, cases, suite.seed)
    settings = settings_for(job, state, place.connection, "_control")
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
