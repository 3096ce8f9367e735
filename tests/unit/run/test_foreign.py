"""A call ends, is cut off, or is left behind; whoever waits for it never waits for ever."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from retrieverbench.run import foreign
from stubborn_support import Stubborn

pytestmark = pytest.mark.anyio


async def test_a_value_and_an_error_come_back_with_their_time() -> None:
    async def good() -> int:
        await asyncio.sleep(0.01)
        return 7

    async def bad() -> None:
        raise SystemExit(0)

    found = await foreign.call(good, seconds=5, name="x")
    assert found is not None
    assert (found.value, found.error, found.late) == (7, None, False)
    assert found.seconds >= 0.01
    failed = await foreign.call(bad, seconds=5, name="x")
    assert failed is not None
    assert isinstance(failed.error, SystemExit)


async def test_a_call_is_named_for_those_who_look_at_it() -> None:
    async def name() -> str:
        task = asyncio.current_task()
        assert task is not None
        return task.get_name()

    found = await foreign.call(name, seconds=5, name="adapter 'x': put")
    assert found is not None
    assert found.value == "adapter 'x': put"


async def test_a_late_call_is_cancelled_and_says_what_it_made_of_it() -> None:
    async def returns() -> str:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return "after all"
        return "never"

    cut = await foreign.call(asyncio.Event().wait, seconds=0.01, name="x")
    assert cut is not None
    assert cut.late
    assert isinstance(cut.error, asyncio.CancelledError)
    found = await foreign.call(returns, seconds=0.01, name="x")
    assert found is not None
    assert (found.late, found.value) == (True, "after all")


async def test_one_swallowed_cancellation_is_followed_by_another() -> None:
    swallowed = []

    async def once() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            swallowed.append(True)
        await asyncio.sleep(30)

    found = await foreign.call(once, seconds=0.01, name="x")
    assert found is not None
    assert isinstance(found.error, asyncio.CancelledError)
    assert swallowed == [True]


async def test_what_swallows_everything_is_left_behind(stubborn: Stubborn) -> None:
    assert await foreign.call(stubborn.hang, seconds=0.01, name="x") is None
    assert stubborn.swallowed == 2
    assert stubborn.running == 1


async def test_whoever_waits_can_be_cancelled_all_the_same(stubborn: Stubborn) -> None:
    with anyio.move_on_after(0.01) as scope:
        await foreign.call(stubborn.hang, seconds=60, name="x")
    assert scope.cancelled_caught
    assert stubborn.swallowed == 2


async def test_a_cancelled_call_has_cleaned_up_when_the_caller_goes_on() -> None:
    steps = []

    async def cleaning() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.01)
            steps.append("cleaned up")

    with anyio.move_on_after(0.01):
        await foreign.call(cleaning, seconds=60, name="x")
    assert steps == ["cleaned up"]
