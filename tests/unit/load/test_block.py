"""A block records whatever an adapter raises, and ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from retrieverbench.errors import BackendError, Code, Throttled
from retrieverbench.load import BlockPlan, run_block
from retrieverbench.load.block import RECORD
from retrieverbench.model import Hit, Query, Response, TenantId

pytestmark = pytest.mark.anyio
QUERIES = [Query(str(number), TenantId("acme"), 2, "lexical") for number in range(4)]


class Panic(BaseException):
    """What an extension written in Rust raises is no Exception either."""


class Numbered(BackendError):
    code = "429"  # type: ignore[assignment]  # what an adapter's author might write


class Raising(Response):
    @property
    def hits(self) -> list[Hit]:
        raise Panic("read")

    @hits.setter
    def hits(self, value: list[Hit]) -> None:
        """Accepted, as the constructor sets it."""


async def codes(odd: BaseException | Response) -> list[Code]:
    """The codes of four requests, the second of which is answered oddly."""

    async def search(query: Query) -> Response:
        await asyncio.sleep(0)
        if query.text != "1":
            return Response([Hit("acme/1", 1.0)])
        if isinstance(odd, BaseException):
            raise odd
        return odd

    plan = BlockPlan(QUERIES, range(4), 1, 5 * 10**9, 20 * 10**9, {"acme/1": 0}, 2)
    block = await run_block(search, plan)
    return [Code(RECORD.unpack_from(block.records, n * RECORD.size)[4]) for n in range(block.count)]


@pytest.mark.parametrize(
    ("odd", "code"),
    [
        (Panic("boom"), Code.BAD_ANSWER),
        (BaseExceptionGroup("several", [Panic("boom")]), Code.BAD_ANSWER),
        (GeneratorExit(), Code.BAD_ANSWER),
        (KeyboardInterrupt(), Code.BAD_ANSWER),
        (asyncio.CancelledError(), Code.BAD_ANSWER),
        (Numbered("x"), Code.BAD_ANSWER),
        (Throttled("x"), Code.THROTTLED),
        (Raising([]), Code.BAD_ANSWER),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_one_odd_request_is_one_code(odd: BaseException | Response, code: Code) -> None:
    assert await codes(odd) == [Code.OK, code, Code.OK, Code.OK]


class Own(str):
    """A foreign text that a table of uids takes for an own one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other == "acme/1"

    def __hash__(self) -> int:
        return hash("acme/1")


class OwnHit(Hit):
    """Another row every time it is read."""


class Number(float):
    def __radd__(self, other: object) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("answer", "kept", "code"),
    [
        (Response([Hit("globex/9", 1.0)]), [1, -2], Code.OK),
        (Response([Hit(Own("globex/9"), 1.0)]), [1, -2], Code.OK),
        (Response([OwnHit(Own("globex/9"), 1)]), [1, -2], Code.OK),
        (Response([Hit("globex/9", Number("nan"))]), [1, -2], Code.BAD_ANSWER),
        (Response([("globex/9", 1.0)]), [1, -2], Code.BAD_ANSWER),  # type: ignore[list-item]
        ({"hits": ["globex/9"]}, [1, -2], Code.BAD_ANSWER),
        ({"hits": ["whatever"]}, [-2, -2], Code.BAD_ANSWER),
    ],
    ids=repr,
)
async def test_what_is_kept_is_what_the_answer_holds(
    answer: Any, kept: list[int], code: Code
) -> None:
    async def search(_query: Query) -> Response:
        await asyncio.sleep(0)
        return answer  # type: ignore[no-any-return]

    known = {"acme/1": 0, "globex/9": 1}
    plan = BlockPlan(QUERIES, range(1), 1, 5 * 10**9, 20 * 10**9, known, 2)
    block = await run_block(search, plan)
    assert [*memoryview(block.answers).cast("i")] == kept
    assert RECORD.unpack_from(block.records)[4] == code
