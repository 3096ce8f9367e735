"""The loop of a run is nobody's but the run's."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Awaitable, Callable

import pytest

from retrieverbench.cli import loop
from retrieverbench.cli.ending import STUCK_CODE
from retrieverbench.cli.loop import CHILD_CODE, run_in_loop
from retrieverbench.load.block import BlockPlan, run_block
from retrieverbench.model import Query, Response, parse_tenant
from retrieverbench.run import Abandoned, foreign

GOES_ON = 77


def test_a_forked_child_that_comes_back_to_the_loop_ends() -> None:
    async def fork() -> int:
        child = os.fork()
        if child == 0:
            raise SystemExit(0)  # which is taken for an error of the adapter's
        return child

    async def main(_on_signal: Callable[[Callable[[], None]], None]) -> int:
        outcome = await foreign.call(fork, seconds=5.0, name="fork")
        assert outcome is not None
        return outcome.value or os._exit(GOES_ON)

    child = run_in_loop(main, lambda _text: None)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == CHILD_CODE


async def block() -> None:
    time.sleep(3600)  # noqa: ASYNC251 - as careless adapters do


async def block_in_a_task() -> None:
    await asyncio.gather(block())


async def block_and_swallow() -> None:
    try:
        await block()
    except BaseException:  # noqa: BLE001 - as careless adapters do
        return


@pytest.mark.parametrize("function", [block, block_in_a_task, block_and_swallow])
def test_a_call_that_blocks_the_loop_for_longer_than_it_may_is_broken_off(
    function: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(_on_signal: Callable[[Callable[[], None]], None]) -> str:
        outcome = await foreign.call(function, seconds=0.1, name="block")
        assert outcome is not None
        assert isinstance(outcome.error, foreign.Blocked)
        return str(outcome.error)

    monkeypatch.setattr(loop, "ROUND_SECONDS", 0.02)
    told = run_in_loop(main, lambda _text: None)
    assert told.startswith("it blocked the event loop in test_loop.py:")
    assert " in block" in told
    assert "for more than 0.1 s" in told


def test_a_timed_search_that_blocks_the_loop_is_broken_off_and_its_target_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def search(_query: Query) -> Response:
        time.sleep(3600)  # noqa: ASYNC251 - as careless adapters do
        return Response([])

    async def main(_on_signal: Callable[[Callable[[], None]], None]) -> None:
        query = Query(text="word", tenant=parse_tenant("cedar"), k=1, mode="lexical")
        plan = BlockPlan([query], [0], 1, int(1e8), int(1e10), {}, 1)
        with pytest.raises(Abandoned, match=r"a search was broken off: .* for more than 0\.1 s"):
            await run_block(search, plan)

    monkeypatch.setattr(loop, "ROUND_SECONDS", 0.02)
    run_in_loop(main, lambda _text: None)


def test_a_call_that_cannot_be_broken_off_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    async def in_c() -> None:
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 600_000)

    async def main(_on_signal: Callable[[Callable[[], None]], None]) -> None:
        await foreign.call(in_c, seconds=0.02, name="in C")

    ends: list[int] = []
    monkeypatch.setattr(loop, "ROUND_SECONDS", 0.01)
    monkeypatch.setattr(loop, "LAST_SECONDS", 0.0)
    monkeypatch.setattr(loop, "end_now", ends.append)
    run_in_loop(main, lambda _text: None)
    assert ends[0] == STUCK_CODE
    assert "in in_c blocks the event loop and cannot be broken off" in capfd.readouterr().err


def test_calls_that_each_take_less_than_they_may_are_not_broken_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def often() -> None:
        for _ in range(15):
            time.sleep(0.05)  # noqa: ASYNC251 - as careless adapters do
            await asyncio.sleep(0)

    async def main(_on_signal: Callable[[Callable[[], None]], None]) -> str:
        allowance = foreign.Allowance(0.5)
        with foreign.allowed(allowance):
            await asyncio.create_task(often())
        return allowance.overrun

    monkeypatch.setattr(loop, "ROUND_SECONDS", 0.02)
    assert run_in_loop(main, lambda _text: None) == ""
