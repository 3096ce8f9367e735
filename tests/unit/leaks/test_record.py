"""Whose request it was, when several questions are under way."""

from __future__ import annotations

import anyio
import pytest

from retrieverbench.leaks.record import RequestLog, Sent

pytestmark = pytest.mark.anyio


async def test_each_question_keeps_what_its_own_tasks_send() -> None:
    log, found = RequestLog(), dict[str, Sent]()

    async def send(word: str) -> None:
        log.request(word, [], None)
        await anyio.lowlevel.checkpoint()
        log.response(word, word)

    async def ask(word: str) -> None:
        with log.apart() as found[word]:
            await send(word)
            async with anyio.create_task_group() as further:
                further.start_soon(send, word)

    async with anyio.create_task_group() as tasks:
        for word in ("one", "other"):
            tasks.start_soon(ask, word)
    for word, sent in found.items():
        assert [request.operation for request in sent.requests] == [word, word]
        assert sent.responses == [(word, word)] * 2
    assert not log.claim(Sent())
    assert log.is_told_apart


async def test_what_a_task_sends_after_its_question_belongs_to_none() -> None:
    log, ended = RequestLog(), anyio.Event()

    async def late() -> None:
        await ended.wait()
        log.request("late", [], None)

    async with anyio.create_task_group() as tasks:
        with log.apart() as sent:
            tasks.start_soon(late)
        ended.set()
    assert not sent.requests
    claimed = Sent()
    assert log.claim(claimed)
    assert [request.operation for request in claimed.requests] == ["late"]
    assert not log.is_told_apart
