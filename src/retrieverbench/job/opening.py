"""Before anything is asked: engines, adapters, vectors, loaded places.

What fails is kept in the entry's state and stops nothing else.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)

from retrieverbench.errors import (
    AdapterError,
    BackendError,
    InputError,
    Refused,
    RetrieverBenchError,
)
from retrieverbench.job.context import Job, settings_for
from retrieverbench.job.prepare import Prepared
from retrieverbench.job.state import EntryState
from retrieverbench.job.vectors import (
    Embedding,
    check_lengths,
    chunk_vectors,
    embed_set,
    open_embedding,
)
from retrieverbench.run import (
    Connection,
    Engines,
    Opened,
    Suite,
    connect,
    is_loaded,
    load_place,
    one_line,
    open_adapter,
)

_KEY = re.compile(r"\b(?:attach|connect|place|search)(?:\.\w+)+")


def make_states(prepared: Prepared) -> list[EntryState]:
    """One state per entry; those without a client have failed already."""
    return [
        EntryState(entry, line, failure=loaded)
        if isinstance(loaded, BackendError)
        else EntryState(entry, line, loaded)
        for entry, line, loaded in zip(
            prepared.suite.targets, prepared.lines, prepared.adapters, strict=True
        )
    ]


def begin_engines(states: Sequence[EntryState], engines: Engines) -> None:
    """Start what the entries need, in the background."""
    for state in states:
        name = engines.needed_by(state.entry)
        if name and state.failure is None:
            engines.begin(name, state.entry.engine_options)


async def open_model(job: Job, states: list[EntryState]) -> Embedding | None:
    """The embedder; without one the modes that need vectors are not measured.

    Raises InputError for a wrong [embedding] table, and where shipped vectors lack a question.
    """
    suite = job.prepared.suite
    if not job.prepared.needs_vectors:
        return None
    try:
        line = suite.line("embedding")
        embedding = await open_embedding(suite.embedding, job.environ, suite=suite.path, line=line)
        if not embedding.is_model:
            await embedding.embedder.embed_queries([case.query for case in job.prepared.cases])
    except BackendError as error:
        job.progress.note(f"dense and hybrid: not measured: {one_line(error)}")
        for state in states:
            state.unmeasured = {mode: error for mode in state.entry.modes if mode != "lexical"}
            if not state.modes:
                state.failure = state.failure or error
        return None
    job.dimension = embedding.embedder.dimension
    job.embedder = {**embedding.embedder.identity, **chunk_vectors(suite)}
    return embedding


async def open_target(
    job: Job, state: EntryState, engines: Engines, places: AsyncExitStack
) -> None:
    """Connect and open the entry's adapter, which `places` closes; a failure is kept."""
    if state.failure is not None or state.loaded is None:
        job.progress.note(f"{state.entry.name}: not measured: {state.failure}")
        return
    connection = None
    try:
        with input_errors(job, state):
            if engines.needed_by(state.entry):
                job.progress.note(f"{state.entry.name}: starting its engine")
            connection = await connect(state.entry, job.environ, engines)
            settings = settings_for(job, state, connection)
            counts = job.prepared.chunks_per_tenant
            opened = open_adapter(state.entry, state.loaded, connection, settings, counts)
            state.opened = await places.enter_async_context(_closing_quietly(opened, state))
        if state.opened.note:
            job.progress.note(f"{state.entry.name}: {state.opened.note}")
    except BackendError as error:
        _fail(job, state, error, connection)


def takes_vectors(state: EntryState) -> bool:
    """Whether chunks must have vectors to be loaded into it."""
    opened = state.opened
    dense = any(mode != "lexical" for mode in state.modes)
    return dense and opened is not None and is_loaded(state.entry, opened.loaded)


async def embed(job: Job, embedding: Embedding, *, with_chunks: bool) -> None:
    """Vectors of the questions, and of the chunks where any target is loaded with them."""
    questions = {case.id: case.query for case in job.prepared.cases}
    corpus = job.prepared.corpus
    if with_chunks or embedding.is_model:
        check_lengths(embedding, corpus, job.prepared.suite)
    total = len(questions) + (len(corpus.chunks) if with_chunks else 0)
    advance = job.progress.begin("embedding", total, "texts")
    job.embedded = await embed_set(
        embedding, corpus, questions, advance, identity=job.embedder, with_chunks=with_chunks
    )


async def load_target(job: Job, state: EntryState) -> None:
    """Load what was opened; a failure is kept."""
    if state.opened is None:
        return
    loaded = is_loaded(state.entry, state.opened.loaded)
    doing = "loading" if loaded else "checking the index"
    advance = job.progress.begin(f"{state.entry.name}: {doing}", len(job.chunks), "chunks")
    try:
        state.place = await load_place(state.opened, job.chunks, advance)
    except InputError as error:  # what was wrong with the suite was said when it was opened
        _fail(job, state, AdapterError(f"raised an InputError while loading: {error}"))
        return
    except BackendError as error:
        _fail(job, state, error, state.opened.connection)
        return
    finally:
        if state.opened.settings.resume and not state.opened.is_settled:
            job.progress.note(f"{state.entry.name}: what was loaded stays; run it again to go on")
    if state.place.note:
        state.notes.append(state.place.note)


@contextmanager
def input_errors(job: Job, state: EntryState) -> Iterator[None]:
    """What is wrong with an entry's options is told with its place in the suite."""
    try:
        yield
    except InputError as error:
        suite = job.prepared.suite
        variable = state.entry.endpoint_env
        read = f"; it is read from environment variable {variable}" if variable else ""
        raise InputError(
            *(
                f"{suite.path}:{_line_of(fault, suite, state)}: target {state.entry.name!r}: "
                f"{fault}{read if 'endpoint' in fault else ''}"
                for fault in error.faults
            )
        ) from error


def _line_of(fault: str, suite: Suite, state: EntryState) -> int:
    """The line of the key that a fault names, such as `search.ef_search`; else the entry's."""
    found = _KEY.search(fault)
    key = found[0].split(".") if found else []
    numbers = range(len(suite.lines))
    at = next((n for n in numbers if suite.lines.get(("targets", n)) == state.line), 0)
    return suite.lines.get(("targets", at, *key), state.line)


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


def _fail(
    job: Job, state: EntryState, error: BackendError, connection: Connection | None = None
) -> None:
    if isinstance(error, Refused) and connection is not None and connection.credentials:
        error.remedy = f"{error.remedy or error.advice} ({connection.credentials})"
    state.failure = error
    job.progress.note(f"{state.entry.name}: not measured: {one_line(error)}")
