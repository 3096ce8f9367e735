"""What an attached index lacks of the corpus is found by id, too, within limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar, Self, cast

import pytest

from retrieverbench.adapter import NOBODY, Description, Settings
from retrieverbench.errors import AdapterError, Rejected
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId
from retrieverbench.run import covering, places
from retrieverbench.run.attach import AttachEntry
from retrieverbench.run.covering import LookedUp, differences, look_up
from retrieverbench.run.guard import Step

pytestmark = pytest.mark.anyio
TENANTS = ("acme", "globex")
CHUNKS = [Chunk(f"d{n}", TenantId(TENANTS[n % 2]), "text", metadata={"pk": n}) for n in range(40)]
ENTRY = AttachEntry("docs", "pk", "owner", matches="metadata.pk")
STEP = Step("x", "get", 5.0)
COUNTS = {"acme": 20, "globex": 20}


class Index:
    """Holds what the corpus holds, but for the keys that are `gone`."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"lexical", "filter", "attach", "get"})

    def __init__(self, *gone: str, error: Exception | None = None) -> None:
        self.gone, self.error = gone, error
        self.asked: list[tuple[str, Sequence[str]]] = []

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        return cls()

    async def search(self, query: Query) -> Response:
        return Response([])

    async def describe(self) -> Description:
        return described()

    async def close(self) -> None:
        pass

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        self.asked.append((tenant.value, uids))
        if self.error is not None:
            raise self.error
        own = {str(c.metadata["pk"]) for c in CHUNKS if c.tenant == tenant}
        return [Hit(uid, 1.0) for uid in uids if uid in own and uid not in self.gone]


def described(**chunks: int) -> Description:
    return Description("x", "1", "y", "1", {}, chunks)


async def test_every_chunk_is_asked_for_by_its_key_and_as_its_owner() -> None:
    index = Index("3", "4")
    found = await look_up(index, ENTRY, CHUNKS, STEP)
    keys = {"4": "acme/d4", "3": "globex/d3"}
    assert found == LookedUp(40, {"acme": ["acme/d4"], "globex": ["globex/d3"]}, keys=keys)
    assert [tenant for tenant, _ in index.asked] == ["acme", "globex"]


async def test_what_equal_counts_hide_is_told() -> None:
    found = await look_up(Index("3", "4", "6"), ENTRY, CHUNKS, STEP)
    told = differences(described(**COUNTS), COUNTS, found)
    assert told.startswith("it lacks 3 of 40 chunks of the corpus that were asked for by id")
    assert told.endswith("(2 of 'acme', e.g. 'acme/d4', 1 of 'globex', e.g. 'globex/d3')")
    uncounted = differences(described(), COUNTS, found)
    assert uncounted == told


async def test_what_the_counts_tell_is_not_told_twice() -> None:
    found = await look_up(Index("3", "4", "6"), ENTRY, CHUNKS, STEP)
    fewer = described(acme=18, globex=19, **{NOBODY: 3})
    told = differences(fewer, COUNTS, found)
    assert told == (
        "it lacks 3 chunks of the corpus (2 of 'acme', 1 of 'globex'), holds 3 chunks without an "
        "owner"
    )
    assert not differences(described(**COUNTS), COUNTS, LookedUp(40))


async def test_a_backend_that_cannot_be_asked_by_id_is_told_and_no_failure() -> None:
    index = Index(error=Rejected("pk is not filterable"))
    found = await look_up(index, ENTRY, CHUNKS, STEP)
    assert found == LookedUp(
        note="the index was not asked for chunks by their ids: pk is not filterable"
    )
    assert not differences(described(**COUNTS), COUNTS, found)


async def test_that_none_is_there_is_told_only_where_all_were_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    none = Index(*map(str, range(40)))
    assert (await look_up(none, ENTRY, CHUNKS, STEP)).is_none_there
    assert not (await look_up(Index(*map(str, range(39))), ENTRY, CHUNKS, STEP)).is_none_there
    monkeypatch.setattr(covering, "MOST_SECONDS", -1.0)
    found = await look_up(none, ENTRY, CHUNKS, STEP)
    assert not found.is_none_there
    assert "none of 20 chunks" in found.note
    assert "attach.matches" in found.note


@pytest.mark.parametrize(
    ("limits", "requests", "most"),
    [
        ({"MOST_CHUNKS": 11}, 2, 11),
        ({"MOST_TENANTS": 1}, 1, 20),
        ({"MOST_AT_ONCE": 5}, 8, 5),
        ({"MOST_SECONDS": -1.0}, 1, 20),
    ],
)
async def test_what_is_asked_is_bounded(
    limits: dict[str, Any], requests: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(covering, name, value)
    index = Index("4")
    found = await look_up(index, ENTRY, CHUNKS, STEP)
    assert len(index.asked) == requests
    assert max(len(uids) for _, uids in index.asked) <= most
    assert found.asked == sum(len(uids) for _, uids in index.asked)


async def test_an_adapter_without_get_is_not_asked() -> None:
    class Unclaimed(Index):
        capabilities: ClassVar[frozenset[str]] = Index.capabilities - {"get"}

    index = Unclaimed()
    assert await look_up(index, ENTRY, CHUNKS, STEP) == LookedUp()
    assert not index.asked


@pytest.mark.parametrize(("text", "told"), [((), "attach.text names no field"), (("body",), "")])
async def test_an_index_whose_texts_are_not_read_is_told(text: tuple[str, ...], told: str) -> None:
    opened = SimpleNamespace(
        entry=SimpleNamespace(attach=replace(ENTRY, text=text)),
        adapter=Index(),
        settings=SimpleNamespace(secrets={}),
        step=lambda word, _limits: Step("x", word, 5.0),
    )
    looked_at = await places._looked_at(cast("places.Opened", opened), CHUNKS)
    assert told in looked_at.note
    assert bool(looked_at.note) == bool(told)


def test_owners_of_another_field_are_shown_in_part() -> None:
    """They may be the texts of chunks."""
    text = "acme grants insurance benefits under rule 6; ask about insurance at desk 6."
    with pytest.raises(AdapterError, match="no tenant of the index is one of the corpus") as caught:
        covering.check_common(described(**{text: 1}), CHUNKS)
    assert text not in str(caught.value)
    assert "'acme grants" in str(caught.value)
