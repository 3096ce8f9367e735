"""The quality pass: every case of the golden set asked once of one target."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import NoReturn

import anyio

from retrieverbench.adapter import Adapter
from retrieverbench.errors import AdapterError, BackendError, Code, TimedOut
from retrieverbench.model import (
    CaseResult,
    Fidelity,
    GoldenCase,
    Mode,
    Query,
    Response,
    Run,
    Target,
)
from retrieverbench.remote import hide_secrets
from retrieverbench.run import foreign
from retrieverbench.run.attach import uid_of
from retrieverbench.run.checks import BadAnswer, read_response
from retrieverbench.run.guard import LEFT_BEHIND, Abandoned, is_sound
from retrieverbench.run.text import log_frames, one_line, place_in_file, text_of

GRACE_SECONDS = 1.0
"""How long after the deadline a search is still waited for, so that its error can say why."""


def build_queries(
    cases: Sequence[GoldenCase], vectors: Mapping[str, array[float]], mode: Mode, depth: int
) -> list[Query]:
    """One Query per case, in order; no vector in lexical mode.

    Vectors are copies: an adapter that overwrites what it is given spoils no other target's.
    """
    return [
        Query(
            text=case.query,
            tenant=case.tenant,
            k=depth,
            mode=mode,
            vector=None if mode == "lexical" else vectors[case.id][:],
        )
        for case in cases
    ]


def to_give(query: Query) -> Query:
    """A copy for the adapter, which can overwrite anything of it.

    What is asked next, and who asked, by which the answer is judged, must not change with it.
    """
    vector = None if query.vector is None else query.vector[:]
    return replace(query, tenant=copy(query.tenant), vector=vector)


async def ask_all(
    adapter: Adapter,
    target: Target,
    cases: Sequence[GoldenCase],
    queries: Sequence[Query],
    *,
    fidelity: Fidelity,
    concurrency: int,
    timeout: float,
    on_done: Callable[[CaseResult], None] = lambda _result: None,
    hidden: Collection[str] = (),
    keys: Mapping[str, str] | None = None,
    known: Container[str] = (),
    on_answer: Callable[[str, Response], None] = lambda _case_id, _answer: None,
    on_error: Callable[[BackendError], object] = lambda _error: None,
) -> Run:
    """Ask every case once; `timeout` is in seconds and per case.

    A failure is the case's result with its code, never an empty list; it stops nothing.
    `on_done` gets each result as it comes. `hidden` values are kept out of error texts.
    `keys` translates the ids of an attached index to uids. `known` are texts that count as
    uids wherever they stand in an answer of a wrong shape. `on_answer` gets the case's id and a
    copy of each valid answer as it comes, of an invalid one the total alone; `on_error` gets each
    failure as it was raised.
    Raises Abandoned at the first search that cannot be cancelled: the rest is not asked.
    """
    results: list[CaseResult | None] = [None] * len(cases)
    pending = iter(range(len(cases)))

    abandoned: list[Abandoned] = []

    async def worker() -> None:
        for index in pending:
            try:
                result, answer = await _ask(
                    adapter, cases[index].id, queries[index], timeout, hidden, known, on_error
                )
            except Abandoned as error:
                abandoned.append(error)
                tasks.cancel_scope.cancel()
                return
            result = result if keys is None else _translated(result, keys)
            results[index] = result
            if answer is not None:
                on_answer(result.case_id, answer)
            on_done(result)

    async with anyio.create_task_group() as tasks:
        for _ in range(min(concurrency, len(cases))):
            tasks.start_soon(worker)
    if abandoned:
        raise abandoned[0]
    depth = queries[0].k if queries else 0
    complete = (
        result or CaseResult(case.id, "missing")
        for case, result in zip(cases, results, strict=True)
    )
    return Run(target, depth, tuple(complete), fidelity)


async def _ask(
    adapter: Adapter,
    case_id: str,
    query: Query,
    timeout: float,
    hidden: Collection[str],
    known: Container[str],
    on_error: Callable[[BackendError], object],
) -> tuple[CaseResult, Response | None]:
    try:
        answer = read_response(await search_once(adapter, query, timeout), query.k)
    except Abandoned:
        raise
    except BackendError as error:
        on_error(error)
        message = one_line(hide_secrets(text_of(error), hidden))
        refused = tuple(error.shown(known)) if isinstance(error, BadAnswer) else ()
        total = error.total if isinstance(error, BadAnswer) else None
        seen = None if total is None else Response([], total=total)
        return CaseResult(case_id, "error", (), error.code.word, message, refused), seen
    return CaseResult(case_id, "ok", tuple((hit.uid, hit.score) for hit in answer.hits)), answer


def _translated(result: CaseResult, keys: Mapping[str, str]) -> CaseResult:
    return replace(
        result,
        hits=tuple((uid_of(key, keys), score) for key, score in result.hits),
        refused=tuple(uid_of(key, keys) for key in result.refused),
    )


async def search_once(adapter: Adapter, query: Query, timeout: float) -> object:
    """One search; whatever an adapter raises becomes a BackendError, its sys.exit(0) too.

    An adapter that does not keep its own deadline is cut off GRACE_SECONDS after it, and an
    answer that comes in between is a timeout too: BadAnswer, which keeps it for the ledger.
    The adapter gets a copy of the query.
    Abandoned when it cannot be cut off.
    """
    limit = timeout + GRACE_SECONDS
    given = to_give(query)
    outcome = await foreign.call(
        lambda: adapter.search(given), seconds=limit, name=f"{type(adapter).__name__}.search"
    )
    if outcome is None:
        raise Abandoned(f"search did not end within {limit:g} s {LEFT_BEHIND}")
    error = outcome.error
    if isinstance(error, foreign.Blocked):
        raise Abandoned(f"search was broken off: {error}")
    if error is not None:
        _raise(error, timeout, late=outcome.late)
    if outcome.seconds > timeout:
        text = f"answered after {outcome.seconds:.2f} s; the timeout is {timeout:g} s"
        raise BadAnswer(text, outcome.value, code=Code.TIMEOUT)
    return outcome.value


def _raise(error: BaseException, timeout: float, *, late: bool) -> NoReturn:
    if isinstance(error, TimeoutError):
        raise TimedOut(f"search raised {type(error).__name__}: {text_of(error)}") from error
    if isinstance(error, asyncio.CancelledError):
        if late:
            raise TimedOut(f"no answer within {timeout:g} s")
        raise AdapterError("search was cancelled by the adapter or its client") from error
    if is_sound(error):
        raise error
    log_frames(error)
    place = place_in_file(error)
    raise AdapterError(
        f"search raised {type(error).__name__}{place}: {text_of(error)}", code=Code.BAD_ANSWER
    ) from error
