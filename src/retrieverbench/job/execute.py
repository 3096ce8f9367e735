"""The main job: load every target, ask, time, look for leaks; then put it all together.

A target that fails is left out from there on and the others finish. An interrupt stops the
asking, closes everything and keeps what was measured.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)

import anyio

from retrieverbench.engines.compose import Compose
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    InputError,
    Interrupted,
    RetrieverBenchError,
)
from retrieverbench.job.assemble import assemble, target_results
from retrieverbench.job.context import Job, make_job, settings_for
from retrieverbench.job.interrupt import stopped_by
from retrieverbench.job.leakcheck import check_leaks
from retrieverbench.job.prepare import Prepared
from retrieverbench.job.progress import Progress, counting, fetching
from retrieverbench.job.state import EntryState
from retrieverbench.job.timing import closed_plan, is_repeatable, repeated, take_noise
from retrieverbench.job.vectors import Embedding, embed_set, open_embedding
from retrieverbench.leaks import check_result
from retrieverbench.load import Subject, TimedResult, measure_closed
from retrieverbench.model import Artifact, CaseResult, Mode, Run
from retrieverbench.run import (
    Abandoned,
    Engines,
    Opened,
    ask_all,
    build_queries,
    connect,
    is_loaded,
    load_place,
    one_line,
    open_adapter,
)


async def run_suite(
    prepared: Prepared,
    environ: Mapping[str, str],
    progress: Progress,
    interrupt: anyio.Event,
    compose: Compose | None = None,
) -> Artifact:
    """Run a checked suite and return its artifact, without a verdict.

    When `interrupt` is set, work stops, everything is closed and the artifact says
    `complete = False`; Interrupted is raised when there is nothing to keep yet. Raises
    InputError for a suite that an adapter refuses, and what the embedder raises.
    """
    states = [
        EntryState(entry, line, failure=loaded)
        if isinstance(loaded, BackendError)
        else EntryState(entry, line, loaded)
        for entry, line, loaded in zip(
            prepared.suite.targets, prepared.lines, prepared.adapters, strict=True
        )
    ]
    job = make_job(prepared, environ, progress)
    complete = False
    engines = Engines(fetching(progress), compose)
    async with stopped_by(interrupt), engines:
        await _measure(job, states, engines)
        complete = True
    if not complete:
        for state in states:
            state.probes_stopped = state.probes_stopped or "interrupted"
    for fault in engines.faults:
        progress.note(fault)
    if not complete and not any(state.opened for state in states):
        raise Interrupted("interrupted before anything was loaded")
    return assemble(
        prepared,
        target_results(prepared, states),
        embedded=job.embedded,
        noise=job.noise,
        run_id=job.run_id,
        started=job.started,
        complete=complete,
    )


async def _measure(job: Job, states: list[EntryState], engines: Engines) -> None:
    """All passes, with every place open from its first use to the end.

    What a suite can have wrong is found first: every adapter is opened before a text is
    embedded, and nothing is loaded before every engine has started, since loading is timed.
    """
    for state in states:
        name = engines.needed_by(state.entry)
        if name and state.failure is None:
            engines.begin(name, state.entry.engine_options)
    embedding = await _open_embedding(job, states)
    async with AsyncExitStack() as places:
        for state in states:
            await _open(job, state, engines, places)
        if embedding is not None and any(state.opened for state in states):
            await _embed(job, embedding, with_chunks=any(map(_takes_vectors, states)))
        for state in states:
            await _load(job, state)
        for state in states:
            await _quality(job, state)
        await _timed(job, states)
        for state in states:
            await _explain(job, state)
            await _describe_again(job, state)
        for state in states:
            await _leaks(job, state)


async def _open_embedding(job: Job, states: list[EntryState]) -> Embedding | None:
    """The embedder; without one the modes that need vectors are not measured."""
    suite = job.prepared.suite
    if not job.prepared.needs_vectors:
        return None
    try:
        line = suite.line("embedding")
        embedding = await open_embedding(suite.embedding, job.environ, suite=suite.path, line=line)
    except BackendError as error:
        job.progress.note(f"dense and hybrid: not measured: {one_line(error)}")
        for state in states:
            state.unmeasured = {mode: error for mode in state.entry.modes if mode != "lexical"}
            if not state.modes:
                state.failure = state.failure or error
        return None
    job.dimension = embedding.embedder.dimension
    return embedding


async def _open(job: Job, state: EntryState, engines: Engines, places: AsyncExitStack) -> None:
    if state.failure is not None or state.loaded is None:
        job.progress.note(f"{state.entry.name}: not measured: {state.failure}")
        return
    try:
        with _input_errors(job, state):
            if engines.needed_by(state.entry):
                job.progress.note(f"{state.entry.name}: starting its engine")
            connection = await connect(state.entry, job.environ, engines)
            settings = settings_for(job, state, connection)
            opened = open_adapter(state.entry, state.loaded, connection, settings)
            state.opened = await places.enter_async_context(_closing_quietly(opened, state))
    except BackendError as error:
        _fail(job, state, error)


def _takes_vectors(state: EntryState) -> bool:
    opened = state.opened
    dense = any(mode != "lexical" for mode in state.modes)
    return dense and opened is not None and is_loaded(state.entry, opened.loaded)


async def _embed(job: Job, embedding: Embedding, *, with_chunks: bool) -> None:
    questions = {case.id: case.query for case in job.prepared.cases}
    corpus = job.prepared.corpus
    total = len(questions) + (len(corpus.chunks) if with_chunks else 0)
    advance = job.progress.begin("embedding", total)
    job.embedded = await embed_set(embedding, corpus, questions, advance, with_chunks=with_chunks)


async def _load(job: Job, state: EntryState) -> None:
    if state.opened is None:
        return
    advance = job.progress.begin(f"{state.entry.name}: loading", len(job.chunks))
    try:
        state.place = await load_place(state.opened, job.chunks, advance)
    except InputError as error:  # what was wrong with the suite was said when it was opened
        _fail(job, state, AdapterError(f"raised an InputError while loading: {error}"))
        return
    except BackendError as error:
        _fail(job, state, error)
        return
    if state.place.note:
        state.notes.append(state.place.note)


@contextmanager
def _input_errors(job: Job, state: EntryState) -> Iterator[None]:
    """What is wrong with an entry's options is told with its place in the suite."""
    try:
        yield
    except InputError as error:
        place = f"{job.prepared.suite.path}:{state.line}: target {state.entry.name!r}"
        raise InputError(*(f"{place}: {fault}" for fault in error.faults)) from error


@asynccontextmanager
async def _closing_quietly(
    opening: AbstractAsyncContextManager[Opened], state: EntryState
) -> AsyncIterator[Opened]:
    """An adapter whose failure to close is a note: the measurements are already made."""
    opened = await opening.__aenter__()
    try:
        yield opened
    finally:
        try:
            await opening.__aexit__(None, None, None)
        except RetrieverBenchError as error:
            state.notes.append(f"could not be removed afterwards: {one_line(error)}")


async def _quality(job: Job, state: EntryState) -> None:
    place = state.usable
    if place is None:
        return
    suite = job.prepared.suite
    cases = job.prepared.cases
    for mode in state.modes:
        target = state.target(mode)
        advance = job.progress.begin(f"{target.label}: quality", len(cases))
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
            )
        except Abandoned as error:
            _lose(job, state, error)
            return


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


async def _timed(job: Job, states: list[EntryState]) -> None:
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
    advance = job.progress.begin("timed pass", len(subjects) * (timing.rounds + 1))
    results: dict[str, TimedResult] = {}
    try:
        await measure_closed(subjects, plan, job.ledger, counting(advance), into=results)
    finally:
        job.noise = take_noise(results)
        for state, mode, label in owners:
            if label in results:
                state.timed[mode] = results[label]
                if (error := results[label].abandoned) is not None:
                    _lose(job, state, error)


def _expected(job: Job, run: Run) -> list[int]:
    """Rows of a complete answer to each case: k, or as many chunks as the tenant has.

    How many chunks match words only the backend knows; there it is what it returned in the
    quality pass.
    """
    if run.target.mode == "lexical":
        return [len(result.hits) for result in run.results]
    counts = job.prepared.chunks_per_tenant
    return [min(run.depth, counts.get(case.tenant.value, 0)) for case in job.prepared.cases]


async def _explain(job: Job, state: EntryState) -> None:
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
            state.plans[mode] = await place.explain(query)
        except Abandoned as error:
            _lose(job, state, error)
            return
        except RetrieverBenchError as error:
            state.notes.append(f"{mode}: its plan could not be had: {one_line(error)}")


async def _describe_again(job: Job, state: EntryState) -> None:
    place = state.usable
    if place is None:
        return
    try:
        state.after = await place.describe()
    except Abandoned as error:
        _lose(job, state, error)
    except RetrieverBenchError as error:
        state.late_failure = f"could not be described after the run: {one_line(error)}"


async def _leaks(job: Job, state: EntryState) -> None:
    place = state.usable
    if place is None:
        return
    try:
        await check_leaks(job, state, place)
    except RetrieverBenchError as error:  # nothing here may lose what was measured before
        state.probes_stopped = f"leak probes stopped: {one_line(error)}"
        state.late_failure = state.late_failure or state.probes_stopped


def _fail(job: Job, state: EntryState, error: BackendError) -> None:
    state.failure = error
    job.progress.note(f"{state.entry.name}: not measured: {one_line(error)}")


def _lose(job: Job, state: EntryState, error: Abandoned) -> None:
    """Its adapter holds a call that never ends: nothing more is asked, what is known is kept."""
    text = one_line(error)
    state.is_gone = True
    state.unmeasured |= {mode: error for mode in state.modes if mode not in state.runs}
    state.late_failure = state.late_failure or text
    state.probes_stopped = state.probes_stopped or f"leak probes stopped: {text}"
    job.progress.note(f"{state.entry.name}: given up: {text}")
