"""Several calls under way at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import anyio
import pytest

from retrieverbench.leaks.asking import at_once
from retrieverbench.run import Abandoned

pytestmark = pytest.mark.anyio


async def test_answers_keep_their_order_and_no_more_than_asked_for_are_under_way() -> None:
    running, most = 0, 0
    turns = [anyio.Event() for _ in range(6)]
    turns[-1].set()

    async def call(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if number < 3:  # each of the first ends after the next one
            await turns[number + 1].wait()
        turns[number].set()
        await anyio.lowlevel.checkpoint()
        running -= 1
        return number

    calls = [partial(call, number) for number in range(6)]
    with anyio.fail_after(20):
        assert await at_once(calls, 4) == list(range(6))
    assert most == 4


@pytest.mark.parametrize("width", [1, 2])
async def test_after_one_that_was_left_behind_nothing_more_begins(width: int) -> None:
    begun: list[int] = []

    async def call(number: int) -> None:
        begun.append(number)
        await anyio.lowlevel.checkpoint()
        if number == 1:
            raise Abandoned("left behind")

    calls: list[Callable[[], Awaitable[None]]] = [partial(call, number) for number in range(9)]
    with pytest.raises(Abandoned, match="left behind"):
        await at_once(calls, width)
    assert begun == list(range(len(begun)))
    assert len(begun) <= 1 + width
