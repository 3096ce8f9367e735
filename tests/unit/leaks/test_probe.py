"""What a probe's result says in words: never a token, whatever a backend quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest

from audit_support import DRAW, audit
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
)
from retrieverbench.leaks import ARMS
from retrieverbench.model import Chunk, Hit, Query, Response
from retrieverbench.run import Abandoned
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio
TOKEN = re.compile(r"c[0-9a-f]{24}")


class Naming(Memory):
    """Takes the question for the id of a chunk."""

    async def search(self, query: Query) -> Response:
        return Response([Hit(f"globex/{query.text}", 1.0)])


async def test_no_token_leaves_a_result() -> None:
    told = repr(await audit("P01", "P02", "P03", adapter=Naming, modes=("lexical",)))
    assert "[canary]" in told, "no token was ever told"
    assert not TOKEN.search(told)


class Showing(Memory):
    """Shows one chunk of one tenant to whoever asks."""

    async def search(self, query: Query) -> Response:
        return Response([Hit("globex/own0", 1.0)])


async def test_a_chunk_that_was_shown_often_is_counted_once() -> None:
    reasons = [
        result.reason
        for result in (await audit("P01", adapter=Showing, modes=("lexical",))).values()
        if result.findings
    ]
    assert reasons
    for reason in reasons:
        assert re.search(r"; \d+ times in all, 1 chunk$", reason), reason


class Failing(Memory):
    """Every seventh search fails as `error` says; asked again it answers."""

    error: ClassVar[BackendError] = TimedOut("no answer")
    calls = 0

    async def search(self, query: Query) -> Response:
        self.calls += 1
        if self.calls % 7 == 0:
            raise self.error
        return await Memory.search(self, query)


@pytest.mark.parametrize(
    "error",
    [
        TimedOut("no answer"),
        Unavailable("closed", code=Code.RESET),
        Unavailable("503", code=Code.HTTP_5XX),
        AdapterError("a hiccup"),
    ],
    ids=lambda error: error.code.word,
)
async def test_errors_of_the_moment_prove_nothing_and_accuse_nobody(error: BackendError) -> None:
    adapter = type("Failing", (Failing,), {"error": error})
    for result in (
        await audit("P12", "P21", adapter=adapter, modes=("lexical",), arms=ARMS)
    ).values():
        assert result.outcome == "inconclusive", result.reason
        assert "had no answer, or none when first asked" in result.reason
        assert str(error) in result.reason


async def test_a_backend_that_asks_for_fewer_questions_is_waited_for() -> None:
    adapter = type("Busy", (Failing,), {"error": Throttled("slow down", retry_after=0.0)})
    results = await audit("P12", "P21", adapter=adapter, modes=("lexical",), arms=ARMS)
    assert {result.outcome for result in results.values()} == {"pass"}


async def test_one_that_asks_for_fewer_and_fewer_ends_the_audit() -> None:
    class Full(Memory):
        async def search(self, query: Query) -> Response:
            raise Throttled("quota used up", retry_after=3_600.0)

    with pytest.raises(Abandoned, match="10 questions in a row were not answered") as caught:
        await audit("P12", adapter=Full, modes=("lexical",), arms=ARMS)
    assert caught.value.remedy == Throttled.advice, "the last error's, not that of a time limit"


async def test_an_error_that_stays_is_the_names_own() -> None:
    class Refusing(Memory):
        async def search(self, query: Query) -> Response:
            if "'" in query.tenant.value:
                raise Unavailable("syntax error", code=Code.HTTP_5XX)
            return await Memory.search(self, query)

    (result,) = (await audit("P12", adapter=Refusing, modes=("lexical",), arms=ARMS[1:])).values()
    assert (result.outcome, result.severity) == ("fail", "critical")


async def test_own_chunks_that_do_not_match_are_no_leak() -> None:
    """A search by parts of words shows them."""

    class Fuzzy(Memory):
        async def search(self, query: Query) -> Response:
            found = await Memory.search(self, query)
            if not found.hits and not query.where:
                words = " ".join(DRAW.words("common"))
                found = await Memory.search(self, replace(query, text=words))
            return found

    results = await audit("P02", "P14", adapter=Fuzzy, modes=("lexical",), arms=ARMS[1:])
    for result in results.values():
        assert (result.outcome, result.severity) == ("fail", "medium"), result.reason


async def test_what_was_missed_before_a_control_failed_is_not_told_as_the_reason() -> None:
    """Nobody alone can be asked: whether a crowd hides what is missing is not known."""

    class NoPlaceAlone(Memory):
        async def put(self, chunks: Sequence[Chunk]) -> None:
            if len(chunks) < 10:
                raise Rejected("too many places")
            await Memory.put(self, chunks)

        async def search(self, query: Query) -> Response:
            return Response((await Memory.search(self, query)).hits[:2])

    result = (await audit("P42", adapter=NoPlaceAlone, modes=("dense",)))["P42", "dense"]
    assert result.outcome == "inconclusive"
    assert "too many places" in result.reason
