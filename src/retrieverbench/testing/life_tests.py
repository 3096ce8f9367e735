"""Opening, describing, closing, cancelling; and what the class claims at all."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import cast

import anyio
import pytest

from retrieverbench.adapter import (
    CAPABILITIES,
    Adapter,
    Deletes,
    Explains,
    Moves,
    ReadsById,
    Removes,
    Writable,
)
from retrieverbench.model import MODES, Layout, Mode, Query
from retrieverbench.run import LAYOUTS
from retrieverbench.testing.corpus import contract_chunks
from retrieverbench.testing.place import Filled, Subject, make_query

_PROTOCOLS = {
    "put": Writable,
    "remove": Removes,
    "get": ReadsById,
    "delete": Deletes,
    "move": Moves,
    "explain": Explains,
}


class LifeTests:
    """What is claimed is there, and what is opened is left as it was found."""

    def test_claims_are_words_of_the_protocol(self, subject: Subject) -> None:
        """Every claimed capability is a known word, a mode and a layout are among them.

        If it fails, look at `capabilities`: the words stand in `retrieverbench.adapter`.
        """
        claimed = subject.cls.capabilities
        assert isinstance(claimed, frozenset)
        assert claimed <= CAPABILITIES.keys(), sorted(claimed - CAPABILITIES.keys())
        assert claimed & set(MODES), "claims no mode"
        assert claimed & set(LAYOUTS), "claims no layout"

    @pytest.mark.anyio
    async def test_claimed_methods_are_there(self, subject: Subject, any_layout: Layout) -> None:
        """The object has every coroutine of the protocols that its capabilities name.

        If it fails, look at the docstring of `retrieverbench.adapter`: which word needs what.
        """
        async with subject.opened(any_layout) as adapter:
            assert isinstance(adapter, Adapter)
            for word, protocol in _PROTOCOLS.items():
                if word in subject.cls.capabilities:
                    assert isinstance(adapter, protocol), f"{word!r} is claimed and missing"

    @pytest.mark.anyio
    async def test_counts_are_read_back(self, place: Filled) -> None:
        """`describe` counts the stored chunks per tenant, as our own record does.

        If it fails, look whether the count is the backend's own, by its tenant field, and
        whether `settle` waits until everything is searchable.
        """
        place.subject.need("put")
        expected = {tenant: len(place.own(tenant)) for tenant in place.tenants}
        found = (await place.adapter.describe()).chunks
        assert {tenant: count for tenant, count in found.items() if count} == expected

    @pytest.mark.anyio
    async def test_searches_change_no_setting(self, place: Filled) -> None:
        """`describe` says the same before and after searches.

        If it fails, look for what a search changes on its connection or place, or for what
        `describe` tells that is no setting.
        """
        before = await place.adapter.describe()
        for mode in place.subject.modes:
            await place.uids(place.chunks[0].text, place.tenants[0], mode)
        after = await place.adapter.describe()
        assert after.settings == before.settings
        assert after.server
        assert after.server_version
        assert after.client
        assert after.client_version

    @pytest.mark.anyio
    async def test_cancelled_searches_harm_nobody(self, place: Filled, mode: Mode) -> None:
        """Searches that are cancelled on the way leave nothing that a later one could see.

        If it fails, look at what a cancelled request leaves: an open transaction, an unread
        answer, a connection that is never given back.
        """
        asker, other = place.tenants[0], place.tenants[-1]
        for _ in range(12):
            query = place.query(place.chunks[0].text, other, mode)
            task = asyncio.create_task(_search(place, query))
            for _turn in range(3):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})
        with anyio.fail_after(60):
            assert await place.uids(place.chunks[0].text, asker, mode)

    @pytest.mark.anyio
    async def test_close_is_safe_twice(self, subject: Subject, layout: Layout) -> None:
        """A place that was never filled is closed, and closed again.

        If it fails, look at what `close` takes for granted.
        """
        adapter = await subject.cls.open(subject.settings(layout))
        await adapter.close()
        await adapter.close()

    @pytest.mark.anyio
    async def test_a_load_that_was_broken_off_goes_on(
        self, subject: Subject, layout: Layout
    ) -> None:
        """With `resume` a place stays with what was put until it was settled, and then goes.

        If it fails, look whether `open` takes the place of that name, whether `get` shows what
        was put before, whether each mode finds it, and whether `close` leaves a place that was
        never settled, and only that.
        """
        subject.need("resume", "put", "get")
        settings = subject.settings(layout)
        resuming, chunks = replace(settings, resume=True), contract_chunks()
        begun = await subject.cls.open(resuming)
        assert isinstance(begun, Writable)
        await begun.put(chunks[::2])
        await begun.close()
        going_on = await subject.cls.open(resuming)
        assert isinstance(going_on, Writable)
        assert isinstance(going_on, ReadsById)
        for tenant in dict.fromkeys(chunk.tenant for chunk in chunks):
            hits = await going_on.get(tenant, [chunk.uid for chunk in chunks])
            expected = {chunk.uid for chunk in chunks[::2] if chunk.tenant == tenant}
            assert {hit.uid for hit in hits} == expected
        await going_on.put(chunks[1::2])
        await going_on.settle()
        counts = Counter(chunk.tenant.value for chunk in chunks)
        assert (await going_on.describe()).chunks == counts
        for mode in subject.modes:
            for chunk in chunks[:2]:
                query = make_query(chunk.text, chunk.tenant, mode, k=len(chunks))
                found = await going_on.search(query)
                assert chunk.uid in {hit.uid for hit in found.hits}, mode
        await going_on.close()
        anew = await subject.cls.open(settings)  # the name is free again
        assert not any((await anew.describe()).chunks.values())
        await anew.close()

    @pytest.mark.anyio
    async def test_what_a_killed_run_left_is_removed(
        self, subject: Subject, layout: Layout
    ) -> None:
        """`remove` takes away all of a place, of no other, and does nothing the second time.

        If it fails, look what `open` and `put` make for each tenant, and how it is found by the
        name of the place alone.
        """
        subject.need("remove", "put", "resume")
        settings, chunks = subject.settings(layout), contract_chunks()
        left = replace(settings, resume=True)
        killed = await subject.cls.open(left)
        assert isinstance(killed, Writable)
        await killed.put(chunks)
        await killed.close()  # it was never settled, so it stays
        cls = cast("type[Removes]", subject.cls)
        async with subject.opened(layout, place=f"{settings.place}x") as other:
            assert isinstance(other, Writable)
            await other.put(chunks)
            await other.settle()
            for _ in range(2):
                await cls.remove(replace(left, modes=frozenset(), dimension=0))
            kept = Counter(chunk.tenant.value for chunk in chunks)
            assert (await other.describe()).chunks == kept
        async with subject.opened(layout, place=settings.place) as anew:
            assert not any((await anew.describe()).chunks.values())

    @pytest.mark.anyio
    async def test_plans_are_of_this_query(self, place: Filled, mode: Mode) -> None:
        """`explain` shows the backend's own plan, with nothing of other tenants in it.

        If it fails, look whether the plan is asked for by the route that `search` takes.
        """
        place.subject.need("explain")
        assert isinstance(place.adapter, Explains)
        asked = place.chunks[-1]
        query = make_query(place.chunks[0].text, asked.tenant, mode)
        plan = await place.adapter.explain(query)
        assert plan.lines, "a plan without a line"
        shown = "\n".join(plan.lines)
        others = {c.text for c in place.chunks if c.tenant != asked.tenant} - {query.text}
        own = {c.text for c in place.chunks if c.tenant == asked.tenant}
        assert not [text for text in others - own if text in shown]


async def _search(place: Filled, query: Query) -> None:
    await place.adapter.search(query)
