"""Questions at once: judged as if asked one after the other, and asked so where they mix."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import Context
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from probe_support import DRAW, Toy
from retrieverbench.leaks import RequestLog, make_world
from retrieverbench.leaks.asking import Asked
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.seen import Seen
from retrieverbench.model import Query, Response, TenantId

pytestmark = pytest.mark.anyio

WIDTH = 4
WORLD = make_world(DRAW)
ASKED = [Asked(each.value, WORLD.canaries[each].text) for each in WORLD.tenants]


class Leaking(Toy):
    """Shows everything, to those first who came last."""

    def __init__(self, log: Any) -> None:
        super().__init__(log)
        self.running = self.most = self.asked = 0

    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return True

    async def search(self, query: Query) -> Response:
        self.running, self.asked = self.running + 1, self.asked + 1
        self.most = max(self.most, self.running)
        try:
            for _ in range(WIDTH - self.asked % WIDTH):
                await anyio.lowlevel.checkpoint()
            return await super().search(query)
        finally:
            self.running -= 1


class Elsewhere:
    """Tells a log as a task does that no question began."""

    def __init__(self, log: RequestLog) -> None:
        self.log = log

    def request(self, *told: Any) -> None:
        Context().run(self.log.request, *told)


async def scene_of(adapter: Toy, log: RequestLog | None, width: int = WIDTH) -> Scene:
    await adapter.put(WORLD.all_chunks())
    return Scene(
        adapter=adapter,
        open=None,  # type: ignore[arg-type]  # opens no further place
        world=WORLD,
        draw=DRAW,
        target="toy",
        probe="P01",
        mode="lexical",
        arm="below the guard",
        timeout=5.0,
        capabilities=Toy.capabilities,
        log=log,
        width=width,
    )


def shown(scene: Scene, seen: Sequence[Seen]) -> list[object]:
    """All but the times."""
    told = [(each.uids, each.requests, each.refused) for each in seen]
    return [told, scene.findings, scene.trials, scene.sent]


async def test_what_is_found_does_not_depend_on_how_many_are_under_way() -> None:
    found = []
    for width in (1, WIDTH):
        log = RequestLog()
        adapter = Leaking(log)
        scene = await scene_of(adapter, log, width)
        asked = [*ASKED, Asked("", "none"), *ASKED]
        found.append(shown(scene, await scene.ask_all(asked)))
        assert adapter.most == width
        assert log.is_told_apart
        assert scene.findings
    assert found[0] == found[1]


async def test_where_requests_cannot_be_told_apart_one_is_asked_after_the_other() -> None:
    """What the questions at once have shown is not forgotten."""
    log = RequestLog()
    adapter = Leaking(Elsewhere(log))
    scene = await scene_of(adapter, log)
    seen = await scene.ask_all(ASKED)
    assert [len(each.requests or ()) for each in seen] == [1] * len(ASKED)
    assert scene.findings
    assert adapter.asked == 2 * len(ASKED)
    adapter.most = 0
    await scene.ask_all(ASKED)
    assert adapter.most == 1


async def test_an_adapter_that_records_nothing_is_asked_one_after_the_other() -> None:
    adapter = Leaking(RequestLog())
    scene = await scene_of(adapter, None)
    await scene.ask_all(ASKED)
    assert adapter.most == 1


async def test_what_was_answered_beside_a_question_that_was_cut_off_is_judged() -> None:
    """Of those that are asked at once the last waits for ever: what the others saw counts."""

    class Waiting(Leaking):
        async def search(self, query: Query) -> Response:
            if query.text == ASKED[-1].text:
                await anyio.sleep_forever()
            return await super().search(query)

    log = RequestLog()
    scene = await scene_of(Waiting(log), log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.ask_all, ASKED)
        while len(scene.unjudged) < len(ASKED) - 1:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert not scene.findings, "they are judged when all were asked"
    scene.judge_left()
    before = len(scene.findings)
    assert before > 0
    scene.judge_left()
    assert len(scene.findings) == before
