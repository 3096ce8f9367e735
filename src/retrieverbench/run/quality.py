"""The quality pass: every case of the golden set asked once of one target."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence

import anyio

from retrieverbench.adapter import Adapter
from retrieverbench.errors import AdapterError, BackendError, Code, TimedOut
from retrieverbench.model import CaseResult, Fidelity, GoldenCase, Mode, Query, Run, Target
from retrieverbench.run.checks import check_response

GRACE_SECONDS = 5.0
"""How much later than the adapter's own timeout the harness gives up on it."""


def build_queries(
    cases: Sequence[GoldenCase], vectors: Mapping[str, array[float]], mode: Mode, depth: int
) -> list[Query]:
    """One Query per case, in order; `vectors` are by case id, and lexical mode needs none."""
    return [
        Query(
            text=case.query,
            tenant=case.tenant,
            k=depth,
            mode=mode,
            vector=None if mode == "lexical" else vectors[case.id],
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
    on_done: Callable[[], None] = lambda: None,
) -> Run:
    """Ask every case once; `timeout` is in seconds and per case.

    A failure is the case's result with its code, never an empty list; it stops nothing.
    """
    results: list[CaseResult | None] = [None] * len(cases)
    pending = iter(range(len(cases)))

    async def worker() -> None:
        for index in pending:
            results[index] = await _ask(adapter, cases[index].id, queries[index], timeout)
            on_done()

    async with anyio.create_task_group() as tasks:
        for _ in range(min(concurrency, len(cases))):
            tasks.start_soon(worker)
    depth = queries[0].k if queries else 0
    return Run(target, depth, tuple(r for r in results if r is not None), fidelity)


async def _ask(adapter: Adapter, case_id: str, query: Query, timeout: float) -> CaseResult:
    try:
        hits = check_response(await search_once(adapter, query, timeout), query)
    except BackendError as error:
        return CaseResult(case_id, "error", (), error.code.word, one_line(error))
    return CaseResult(case_id, "ok", tuple((hit.uid, float(hit.score)) for hit in hits))


async def search_once(adapter: Adapter, query: Query, timeout: float) -> object:
    """One search; whatever an adapter raises becomes a BackendError.

    An adapter that does not keep its own deadline is cut off GRACE_SECONDS later.
    """
    try:
        with anyio.fail_after(timeout + GRACE_SECONDS):
            return await adapter.search(query)
    except BackendError:
        raise
    except TimeoutError as error:
        raise TimedOut(f"no answer within {timeout + GRACE_SECONDS:g} s") from error
    except Exception as error:  # an adapter may raise anything; it is the adapter's fault
        raise AdapterError(
            f"search raised {type(error).__name__}: {error}", code=Code.BAD_ANSWER
        ) from error


def one_line(error: BaseException, limit: int = 300) -> str:
    """An error's text in one line of at most `limit` characters."""
    return " ".join(str(error).split())[:limit] or type(error).__name__
