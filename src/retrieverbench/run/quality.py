"""The quality pass: every case of the golden set asked once of one target."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from time import perf_counter_ns

import anyio

from retrieverbench.adapter import Adapter
from retrieverbench.errors import AdapterError, BackendError, Code, TimedOut
from retrieverbench.model import CaseResult, Fidelity, GoldenCase, Mode, Query, Run, Target
from retrieverbench.run.attach import uid_of
from retrieverbench.run.checks import BadAnswer, check_response
from retrieverbench.run.guard import is_sound, is_stop
from retrieverbench.run.text import hide, one_line, text_of

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
) -> Run:
    """Ask every case once; `timeout` is in seconds and per case.

    A failure is the case's result with its code, never an empty list; it stops nothing.
    `on_done` gets each result as it comes. `hidden` values are kept out of error texts.
    `keys` translates the ids of an attached index to uids.
    """
    results: list[CaseResult | None] = [None] * len(cases)
    pending = iter(range(len(cases)))

    async def worker() -> None:
        for index in pending:
            result = await _ask(adapter, cases[index].id, queries[index], timeout, hidden)
            result = result if keys is None else _translated(result, keys)
            results[index] = result
            on_done(result)

    async with anyio.create_task_group() as tasks:
        for _ in range(min(concurrency, len(cases))):
            tasks.start_soon(worker)
    depth = queries[0].k if queries else 0
    complete = (
        result or CaseResult(case.id, "missing")
        for case, result in zip(cases, results, strict=True)
    )
    return Run(target, depth, tuple(complete), fidelity)


async def _ask(
    adapter: Adapter, case_id: str, query: Query, timeout: float, hidden: Collection[str]
) -> CaseResult:
    try:
        hits = check_response(await search_once(adapter, query, timeout), query)
    except BackendError as error:
        message = one_line(hide(text_of(error), hidden))
        refused = error.uids if isinstance(error, BadAnswer) else ()
        return CaseResult(case_id, "error", (), error.code.word, message, refused)
    return CaseResult(case_id, "ok", tuple((hit.uid, float(hit.score)) for hit in hits))


def _translated(result: CaseResult, keys: Mapping[str, str]) -> CaseResult:
    return replace(
        result,
        hits=tuple((uid_of(key, keys), score) for key, score in result.hits),
        refused=tuple(uid_of(key, keys) for key in result.refused),
    )


async def search_once(adapter: Adapter, query: Query, timeout: float) -> object:
    """One search; whatever an adapter raises becomes a BackendError.

    An adapter that does not keep its own deadline is cut off GRACE_SECONDS after it, and an
    answer that comes in between is a timeout too: BadAnswer, which keeps it for the ledger.
    """
    start = perf_counter_ns()
    try:
        with anyio.move_on_after(timeout + GRACE_SECONDS):
            answer = await adapter.search(query)
            _check_in_time(answer, (perf_counter_ns() - start) / 1e9, timeout)
            return answer
    except TimeoutError as error:
        raise TimedOut(f"search raised {type(error).__name__}: {text_of(error)}") from error
    except BaseException as error:
        # An adapter may raise anything, and it is the adapter's fault; its sys.exit(0)
        # would otherwise be this command's exit code.
        if is_stop(error) or is_sound(error):
            raise
        if isinstance(error, asyncio.CancelledError):
            raise AdapterError("search was cancelled by the adapter or its client") from error
        raise AdapterError(
            f"search raised {type(error).__name__}: {text_of(error)}", code=Code.BAD_ANSWER
        ) from error
    raise TimedOut(f"no answer within {timeout:g} s")


def _check_in_time(answer: object, seconds: float, timeout: float) -> None:
    if seconds > timeout:
        text = f"answered after {seconds:.2f} s; the timeout is {timeout:g} s"
        raise BadAnswer(text, answer, code=Code.TIMEOUT)
