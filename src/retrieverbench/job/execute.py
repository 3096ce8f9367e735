"""The main job: load every target, ask, time, look for leaks; then put it all together.

A target that fails is left out from there on and the others finish. An interrupt stops the
asking, closes everything and keeps what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack

import anyio

from retrieverbench.engines.compose import Compose
from retrieverbench.job.assemble import assemble, target_results
from retrieverbench.job.context import Job, make_job
from retrieverbench.job.interrupt import stopped_by
from retrieverbench.job.opening import (
    begin_engines,
    embed,
    load_target,
    make_states,
    open_model,
    open_target,
    takes_vectors,
)
from retrieverbench.job.passes import (
    ask_quality,
    ask_timed,
    describe_again,
    explain_target,
    look_for_leaks,
)
from retrieverbench.job.prepare import Prepared
from retrieverbench.job.progress import Progress, fetching
from retrieverbench.job.state import EntryState
from retrieverbench.model import Artifact
from retrieverbench.run import Engines


async def run_suite(
    prepared: Prepared,
    environ: Mapping[str, str],
    progress: Progress,
    interrupt: anyio.Event,
    compose: Compose | None = None,
) -> Artifact:
    """Run a checked suite and return its artifact, without a verdict.

    When `interrupt` is set, work stops, everything is closed and the artifact says
    `complete = False`, whatever was measured by then. Raises InputError for a suite that an
    adapter refuses, and what the embedder raises.
    """
    states = make_states(prepared)
    job = make_job(prepared, environ, progress)
    complete = False
    engines = Engines(fetching(progress), compose)
    async with stopped_by(interrupt.wait), engines:
        await _measure(job, states, engines)
        complete = True
    if not complete:
        for state in states:
            state.probes_stopped = state.probes_stopped or "interrupted"
    for fault in engines.faults:
        progress.note(fault)
    return assemble(
        prepared,
        target_results(prepared, states),
        embedded=job.embedded,
        noise=job.noise,
        origin=job.origin,
        run_id=job.run_id,
        started=job.started,
        complete=complete,
    )


async def _measure(job: Job, states: list[EntryState], engines: Engines) -> None:
    """All passes, with every place open from its first use to the end.

    What a suite can have wrong is found first: every adapter is opened before a text is
    embedded, and nothing is loaded before every engine has started, since loading is timed.
    """
    begin_engines(states, engines)
    embedding = await open_model(job, states)
    async with AsyncExitStack() as places:
        for state in states:
            await open_target(job, state, engines, places)
        if embedding is not None and any(state.opened for state in states):
            await embed(job, embedding, with_chunks=any(map(takes_vectors, states)))
        for state in states:
            await load_target(job, state)
        for state in states:
            await ask_quality(job, state)
        await ask_timed(job, states)
        for state in states:
            await explain_target(job, state)
            await describe_again(job, state)
        for state in states:
            await look_for_leaks(job, state)
