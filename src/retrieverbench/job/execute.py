"""The main job: load every target, ask, time, look for leaks; then put it all together.

A target that fails is left out from there on and the others finish. An interrupt stops the
asking, closes everything and keeps what was measured; so does whatever else ends the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

import anyio

from retrieverbench.engines.compose import Compose
from retrieverbench.errors import BackendError
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
from retrieverbench.run import Engines, one_line


@dataclass(frozen=True, slots=True)
class Begun:
    """A run from its first step on; what is measured gathers in it."""

    job: Job
    states: list[EntryState]


def begin_suite(prepared: Prepared, environ: Mapping[str, str], progress: Progress) -> Begun:
    """A run of a checked suite before its first step."""
    return Begun(make_job(prepared, environ, progress), make_states(prepared))


async def run_suite(
    begun: Begun, interrupt: anyio.Event, compose: Compose | None = None
) -> Artifact:
    """Do a run and return its artifact, without a verdict.

    When `interrupt` is set, work stops, everything is closed and the artifact says
    `complete = False`, whatever was measured by then. Raises InputError for a suite that an
    adapter refuses, and what the embedder raises. For whatever else it raises see `cut_off`.
    """
    job, states = begun.job, begun.states
    complete = False
    engines = Engines(fetching(job.progress), compose)
    async with stopped_by(interrupt.wait), engines:
        await _measure(job, states, engines)
        complete = True
    if not complete:
        for state in states:
            state.probes_stopped = state.probes_stopped or "interrupted"
    for fault in engines.faults:
        job.progress.note(fault)
    return _artifact(begun, complete=complete)


def cut_off(begun: Begun, why: BackendError) -> Artifact | None:
    """The artifact of a run that was broken off; None if nothing was measured and no leak seen.

    What was measured stays, and each target tells why it ended there.
    """
    text = one_line(why)
    states = begun.states
    if not any(state.runs or any(state.findings.values()) for state in states):
        return None
    for state in states:
        state.is_gone = True
        state.unmeasured |= {mode: why for mode in state.modes if mode not in state.runs}
        state.late_failure = state.late_failure or text
        state.probes_stopped = state.probes_stopped or f"leak probes stopped: {text}"
    return _artifact(begun, complete=True)


def _artifact(begun: Begun, *, complete: bool) -> Artifact:
    job = begun.job
    return assemble(
        job.prepared,
        target_results(job.prepared, begun.states),
        embedded=job.embedded,
        noise=job.noise,
        origin=job.origin,
        run_id=job.run_id,
        started=job.started,
        complete=complete,
    )


async def _measure(job: Job, states: list[EntryState], engines: Engines) -> None:
    """All passes, with every place open from its first use to the end.

    What a suite can have wrong is found first: the model is opened before an engine starts, every
    adapter before a text is embedded, and nothing is loaded before every engine has started,
    since loading is timed.
    """
    embedding = await open_model(job, states)
    begin_engines(states, engines)
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
