"""The leak audit of a suite's targets: every probe of the catalog, on places of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial

import anyio

from retrieverbench.adapter import Adapter, Description, Recorder
from retrieverbench.engines import quick_start
from retrieverbench.engines.compose import Compose
from retrieverbench.errors import AdapterError, BackendError, InputError
from retrieverbench.job.assemble import assemble, bare_result
from retrieverbench.job.context import Job, make_job, most_at_once, other_place, settings_for
from retrieverbench.job.hiding import without_secrets
from retrieverbench.job.interrupt import stopped_by
from retrieverbench.job.opening import begin_engines, input_errors, make_states
from retrieverbench.job.passes import keep_plan
from retrieverbench.job.prepare import Prepared
from retrieverbench.job.progress import Progress, counting, fetching
from retrieverbench.job.reading import exported_worlds, read_questions
from retrieverbench.job.state import EntryState
from retrieverbench.leaks import (
    ARMS,
    AS_IS,
    CATALOG,
    DIMENSION,
    AuditPlan,
    Declared,
    Draw,
    Probe,
    RequestLog,
    Scene,
    UnderWay,
    Variant,
    World,
    audit_target,
    bounds_of,
    make_world,
    new_seed,
    not_asked,
    plan_of_judged,
    unchosen,
)
from retrieverbench.leaks.places import OpenAdapter
from retrieverbench.model import Artifact, Chunk, ProbeResult, TargetResult
from retrieverbench.run import (
    Connection,
    Engines,
    Place,
    Suite,
    TargetEntry,
    connect,
    is_loaded,
    one_line,
    open_place,
)

_ONE_TENANT = "the corpus has one tenant: there is nobody to leak to"


@dataclass(slots=True)
class Audited:
    """One entry: what was opened, the results so far and the running probe's; whether it ended."""

    state: EntryState
    probes: Sequence[Probe]
    results: list[ProbeResult] = field(default_factory=list)
    under_way: UnderWay = field(default_factory=UnderWay)
    is_done: bool = False

    @property
    def is_read(self) -> bool:
        """Whether nothing can be written to it: only the user's own chunks can be asked for."""
        state = self.state
        return state.loaded is not None and not is_loaded(state.entry, state.loaded)


@dataclass(slots=True)
class BegunAudit:
    """An audit from its first step on; what it finds gathers in it.

    `reading` is the job for targets that are only read, once their questions have vectors.
    """

    job: Job
    reading: Job
    audited: list[Audited]
    draw: Draw
    probes: Sequence[Probe]


def begin_audit(
    prepared: Prepared,
    environ: Mapping[str, str],
    progress: Progress,
    *,
    probes: Sequence[Probe],
    seed: int | None = None,
) -> BegunAudit:
    """An audit of every target of a checked suite, before its first step.

    What is asked is drawn by `seed`; without one by a new seed, which the artifact names.
    """
    job = make_job(prepared, environ, progress)
    job.dimension = DIMENSION
    draw = Draw(new_seed() if seed is None else seed, tuple(prepared.chunks_per_tenant))
    audited = [Audited(_quickly_started(state), probes) for state in make_states(prepared)]
    return BegunAudit(job, job, audited, draw, probes)


async def run_audit(
    begun: BegunAudit, interrupt: anyio.Event, compose: Compose | None = None
) -> Artifact:
    """Probe every target and return the artifact, without a verdict.

    A target that fails is left out from there on and the others are probed. When
    `interrupt` is set, what was found is kept and the artifact says `complete = False`. For
    whatever it raises see `cut_off_audit`.
    """
    job, audited, complete = begun.job, begun.audited, False
    engines = Engines(fetching(job.progress), compose)
    async with stopped_by(interrupt.wait), engines:
        read = [each.state for each in audited if each.is_read]
        begun.reading = await read_questions(job, read)
        begin_engines([each.state for each in audited], engines)
        refusals = []
        for each in audited:
            try:
                its_job = begun.reading if each.is_read else job
                await _audit(its_job, each, engines, begun.draw)
            except InputError as error:
                refusals.append(error)
                each.state.failure = AdapterError(f"refused before it was audited: {error}")
            each.is_done = True
        # What was found of others outweighs what is wrong with one.
        if refusals and not any(each.results for each in audited):
            raise refusals[0]
        complete = True
    for fault in engines.faults:
        job.progress.note(fault)
    return _artifact(begun, "interrupted", complete=complete)


def cut_off_audit(begun: BegunAudit, why: BackendError) -> Artifact | None:
    """The artifact of an audit that was broken off; None if nothing was probed until then.

    What was found stays; the target that was audited, and those whose turn it was not, tell why.
    """
    for each in begun.audited:
        each.results += each.under_way.shown(one_line(why))
    if not any(each.results for each in begun.audited):
        return None
    for each in begun.audited:
        if not each.is_done:
            each.state.failure = each.state.failure or why
    return _artifact(begun, one_line(why), complete=True)


def _artifact(begun: BegunAudit, why: str, *, complete: bool) -> Artifact:
    """`why` is what ended it, where it did not come to its end."""
    job = begun.job
    artifact = assemble(
        job.prepared,
        [target for each in begun.audited for target in _results(job.prepared, each, why)],
        embedded=begun.reading.embedded,
        noise=None,
        origin=job.origin,
        run_id=job.run_id,
        started=job.started,
        complete=complete,
    )
    seeds = {**artifact.seeds, "audit": begun.draw.seed}
    left_out = tuple(unchosen(CATALOG, begun.probes))
    return replace(artifact, kind="audit", seeds=seeds, unchosen=left_out)


def _quickly_started(state: EntryState) -> EntryState:
    """An audit is short and gates no time: engines start so unless the suite says otherwise."""
    entry = state.entry
    options = quick_start(entry.engine_name) if entry.engine_name else {}
    return replace(state, entry=replace(entry, engine_options={**options, **entry.engine_options}))


async def _audit(job: Job, each: Audited, engines: Engines, draw: Draw) -> None:
    """Everything of one entry; its failure is kept and stops nothing else."""
    state, probes = each.state, each.probes
    if state.failure is not None or state.loaded is None:
        job.progress.note(f"{state.entry.name}: not audited: {state.failure}")
        return
    log = RequestLog() if "record" in state.loaded.cls.capabilities else None
    own = None if each.is_read else make_world(draw)
    chunks = job.chunks if own is None else own.all_chunks()
    is_alone = own is None and len(job.prepared.chunks_per_tenant) < 2
    advance = job.progress.begin(f"{state.entry.name}: probes", len(probes), "probes")
    try:
        connection = await connect(state.entry, job.environ, engines)

        @asynccontextmanager
        async def another(
            chunks: Sequence[Chunk], variant: Variant = AS_IS
        ) -> AsyncIterator[Adapter]:
            # What is only read holds all that it held before, whatever part of it is asked about.
            held = job.chunks if each.is_read else chunks
            async with _opened(job, each, connection, log, held, variant) as place:
                yield place.adapter

        async with _opened(job, each, connection, log, chunks) as place:
            state.place = place
            if place.note:
                state.notes.append(place.note)
                job.progress.note(f"{state.entry.name}: {place.note}")
            worlds = {} if own else await exported_worlds(job, state, place)
            world = own or worlds[state.modes[0]]
            blank = _scene(job, place, world, draw, another, log)
            plan = AuditPlan(
                probes,
                state.modes,
                ARMS,
                read_only=each.is_read,
                nothing=_ONE_TENANT if is_alone else "",
                worlds=worlds,
            )
            await audit_target(
                blank,
                plan,
                each.results,
                counting(advance),
                each.under_way,
                partial(_explain, state),
            )
    except BackendError as error:
        state.failure = error
        job.progress.note(f"{state.entry.name}: audit ended: {error}")


async def _explain(state: EntryState, scene: Scene) -> None:
    """The plan of a question that was judged, in the scene's mode."""
    if "explain" in scene.capabilities:
        await keep_plan(state, scene.mode, partial(plan_of_judged, scene))


def _scene(
    job: Job,
    place: Place,
    world: World,
    draw: Draw,
    another: OpenAdapter,
    log: RequestLog | None,
) -> Scene:
    """Before any probe: `world` is what the place holds, `another` opens further places."""
    suite, entry = job.prepared.suite, place.entry
    if log is not None:
        log.take()
    return Scene(
        adapter=place.adapter,
        open=another,
        world=world,
        draw=draw,
        target=entry.name,
        probe="",
        mode=entry.modes[0],
        keys=place.keys,
        arm=ARMS[0],
        timeout=suite.timeout,
        log=log,
        layout=entry.layout,
        declared=_declared(suite, entry, place.description),
        description=place.description,
        fidelity=place.fidelity,
        capabilities=place.loaded.cls.capabilities,
        pattern=suite.tenant_pattern,
        misplaced=place.misplaced,
        width=most_at_once(suite),
        options=entry.options,
    )


@asynccontextmanager
async def _opened(
    job: Job,
    each: Audited,
    connection: Connection,
    log: Recorder | None,
    chunks: Sequence[Chunk],
    variant: Variant = AS_IS,
) -> AsyncIterator[Place]:
    """A fresh place that holds `chunks`."""
    state = each.state
    assert state.loaded is not None
    settings = settings_for(job, state, connection)
    settings = replace(
        settings,
        place="" if settings.attached else other_place(state),
        resume=False,
        recorder=log,
        concurrency=variant.concurrency or settings.concurrency,
        options={
            **settings.options,
            "place": {**settings.options.get("place", {}), **variant.place},
            "search": {**settings.options.get("search", {}), **variant.search},
        },
    )
    with input_errors(job, state):
        async with open_place(state.entry, state.loaded, connection, settings, chunks) as place:
            yield place


def _declared(suite: Suite, entry: TargetEntry, told: Description) -> Mapping[str, Declared]:
    """By the adapter, which names no numbers, and by the suite, whose word is the later one."""
    found = {
        "shared_idf": Declared(1.0, "the adapter's description"),
        "eventual_visibility": Declared(suite.timeout, "the adapter's description"),
    }
    declared = {name: each for name, each in found.items() if name in told.properties}
    names = [(one.name, one.layout) for one in suite.targets]
    number = names.index((entry.name, entry.layout))
    for name, value in asdict(entry.declares).items():
        if value:
            line = suite.line("targets", number, "declares", name)
            declared[name] = Declared(float(value), f"{suite.path.name}:{line}")
    return declared


def _results(prepared: Prepared, each: Audited, why: str) -> Iterator[TargetResult]:
    """One per mode; what was found before a failure is kept beside it, by a running probe, too.

    A target of which something was asked has a result for every probe, asked or not.
    """
    state = each.state
    each.results += each.under_way.shown(one_line(state.failure) if state.failure else why)
    if each.results:
        ended = f": {one_line(state.failure)}" if state.failure else ""
        why = f"the audit of the target ended before its turn{ended}"
        modes, name = state.entry.modes, state.entry.name
        each.results += list(not_asked(each.probes, modes, each.results, name, why))
    for mode in each.state.entry.modes:
        first = mode == each.state.entry.modes[0]
        probes = tuple(
            found for found in each.results if found.mode == mode or (first and found.mode is None)
        )
        bare = bare_result(prepared, each.state, mode)
        notes = tuple(each.state.notes)
        full = replace(
            bare,
            plan=each.state.plans.get(mode),
            probes=probes,
            bounds=tuple(bounds_of(probes)),
            notes=notes,
        )
        yield without_secrets(full, each.state, prepared.corpus.chunks)
