"""The audit of a target that is only read: questions of the golden set, owners by the corpus."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

from retrieverbench.errors import BackendError
from retrieverbench.job.context import Job
from retrieverbench.job.opening import embed, open_model
from retrieverbench.job.state import EntryState
from retrieverbench.leaks import World, find_questions
from retrieverbench.leaks.asking import K
from retrieverbench.model import Mode, Query, TenantId
from retrieverbench.run import (
    Abandoned,
    BadAnswer,
    Place,
    check_response,
    search_once,
    uid_of,
)

MOST_FAILED = 3


async def read_questions(job: Job, states: Sequence[EntryState]) -> Job:
    """A copy of the job with vectors of the questions, where one of these targets needs them."""
    reading = replace(job, dimension=0)
    dense = [state for state in states if set(state.entry.modes) - {"lexical"}]
    embedding = await open_model(reading, dense) if dense else None
    if embedding is not None:
        await embed(reading, embedding, with_chunks=False)
    return reading


async def exported_worlds(job: Job, state: EntryState, place: Place) -> dict[Mode, World]:
    """Which questions find which of the user's chunks, mode by mode, asked of the place itself.

    A question that fails finds nothing; after MOST_FAILED in a row the last error is raised: a
    backend that fails is not one that finds nothing.
    """
    failed: list[BackendError] = []
    shown: dict[Mode, list[tuple[TenantId, list[str]]]] = {mode: [] for mode in state.modes}

    def judged(mode: Mode, tenant: TenantId, keys: Sequence[str]) -> list[str]:
        """The uids; those of others are kept for P01, for they may be shown only once."""
        uids = list(keys) if place.keys is None else [uid_of(key, place.keys) for key in keys]
        foreign = [uid for uid in uids if job.ledger.get(uid) != tenant]
        if foreign:
            shown[mode].append((tenant, foreign))
        return uids

    async def ask(
        mode: Mode, tenant: TenantId, text: str, vector: array[float] | None
    ) -> list[str]:
        query = Query(text, tenant, K, mode, None if mode == "lexical" else vector)
        try:
            hits = check_response(await search_once(place.adapter, query, place.timeout), query)
        except Abandoned:
            raise
        except BadAnswer as error:
            judged(mode, tenant, error.uids)
            return []
        except BackendError as error:
            failed.append(error)
            if len(failed) == MOST_FAILED:
                raise
            return []
        failed.clear()
        return judged(mode, tenant, [hit.uid for hit in hits])

    worlds = await find_questions(
        job.chunks,
        job.prepared.cases,
        job.vectors,
        ask,
        modes=state.modes,
        depth=job.prepared.suite.depth,
    )
    return {mode: replace(world, shown=shown[mode]) for mode, world in worlds.items()}
