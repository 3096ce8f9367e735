"""An index of which no id is known is refused before anything is judged by its ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import pytest

from retrieverbench.adapter import Description, Settings
from retrieverbench.errors import AdapterError, Code
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId
from retrieverbench.run.attach import AttachEntry
from retrieverbench.run.guard import Step
from retrieverbench.run.misplaced import looked_up

pytestmark = pytest.mark.anyio
TENANTS = ("acme", "globex")
CHUNKS = [Chunk(f"d{n}", TenantId(TENANTS[n % 2]), f"text {n}") for n in range(8)]
ENTRY = AttachEntry("docs", "pk", "owner", text=("body",))
STEP = Step("x", "get", 5.0)
LONG = "a whole text of the chunk that nobody may print"
NOT_COUNTED = Description("x", "1", "y", "1", {}, {})


class Index:
    """Its searches show `found`; by id it gives what it `gives`, by tenant."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"lexical", "filter", "attach", "get"})

    def __init__(self, found: Sequence[str] = (), **gives: set[str]) -> None:
        self.found, self.gives = found, gives

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        return cls()

    async def search(self, query: Query) -> Response:
        return Response([Hit(uid, 1.0 - n / 10) for n, uid in enumerate(self.found)])

    async def describe(self) -> Description:
        return NOT_COUNTED

    async def close(self) -> None:
        pass

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        return [Hit(uid, 1.0) for uid in uids if uid in self.gives.get(tenant.value, ())]


@pytest.mark.parametrize(
    ("found", "told"),
    [((LONG, "p2"), "'pk' holds 'a whole …"), ((), "no search shows one of its ids")],
)
async def test_an_index_of_which_no_id_is_known_is_refused(found: Sequence[str], told: str) -> None:
    with pytest.raises(AdapterError) as raised:
        await looked_up(Index(found), ENTRY, CHUNKS, NOT_COUNTED, STEP)
    text = str(raised.value)
    assert raised.value.code is Code.WRONG_COUNT
    assert "none of 8 ids of the corpus" in text
    assert told in text
    assert "id of the corpus is 'd0', 'd2', 'd4', 'd6', 'd1'" in text
    assert "attach.id" in text
    assert "attach.matches" in text
    assert LONG not in text


@pytest.mark.parametrize(
    ("index", "misplaced"),
    [
        (Index(("p1",), acme={"d0"}), 0),
        (Index(("p1", "d3")), 0),
        (Index(("p1",), acme={"d1"}), 1),
    ],
    ids=["one_by_id", "one_by_search", "one_with_another"],
)
async def test_an_index_of_which_one_id_is_known_is_judged(index: Index, misplaced: int) -> None:
    _, shown = await looked_up(index, ENTRY, CHUNKS, NOT_COUNTED, STEP)
    assert len(shown) == misplaced
