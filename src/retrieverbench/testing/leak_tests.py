"""No tenant ever sees what is another's. None of these can be replaced or expected to fail."""

from __future__ import annotations

from contextlib import suppress

import anyio
import pytest

from retrieverbench.adapter import Deletes, Moves, ReadsById
from retrieverbench.errors import InputError, RetrieverBenchError, TenantError
from retrieverbench.leaks.unguarded import unchecked_tenant
from retrieverbench.model import Mode, TenantId
from retrieverbench.testing.corpus import (
    LOOKALIKES,
    QUESTIONS,
    STRANGERS,
    UNCHECKED,
    make_chunk,
)
from retrieverbench.testing.place import Filled, Subject, make_query


class LeakTests:
    """Each for every claimed mode and layout."""

    @pytest.mark.anyio
    async def test_leak_foreign_text_finds_only_own(self, place: Filled, mode: Mode) -> None:
        """A question in the exact words of another's chunk finds own chunks only.

        If it fails, look at the tenant condition of this mode: is it in every leg, and inside
        the search instead of after it? `no control` means that the owner does not find it.
        """
        k = len(place.chunks) + 5
        for tenant in place.tenants:
            last = [chunk for chunk in place.chunks if chunk.tenant.value == tenant][-1]
            for asker in place.tenants:
                found = await place.uids(last.text, asker, mode, k)
                if asker == tenant:
                    assert last.uid in found, f"no control: {tenant} does not find {last.uid}"

    @pytest.mark.anyio
    async def test_leak_same_id_and_text_stay_apart(self, place: Filled, mode: Mode) -> None:
        """Two tenants hold the same id, text and vector; each gets its own, and gets it.

        If it fails, look at the key that a chunk is stored by: it must be made of the uid and
        not of the id, and nothing may be taken for a duplicate over tenants.
        """
        for chunk in place.chunks[:2]:
            for tenant in place.tenants:
                twins = {
                    c.uid for c in place.chunks if c.tenant.value == tenant and c.text == chunk.text
                }
                found = await place.uids(chunk.text, tenant, mode, k=max(1, len(twins)))
                assert set(found) == twins, f"{tenant} asks for its own {chunk.id} in {mode}"

    @pytest.mark.anyio
    async def test_leak_unknown_tenants_see_nothing(self, place: Filled, mode: Mode) -> None:
        """A tenant without chunks gets an empty answer, or is refused: never anything.

        If it fails, look at how the tenant's name reaches the backend's language: as a bound
        value or an escaped literal, compared exactly, and never left out when it is unknown.
        """
        text = place.chunks[0].text
        for name in STRANGERS:
            try:
                assert await place.uids(text, name, mode, k=50) == [], name
            except TenantError:
                continue

    @pytest.mark.anyio
    async def test_leak_values_that_name_no_tenant_are_refused(
        self, place: Filled, mode: Mode
    ) -> None:
        """None, an empty text, a list: an InputError before any request, or an empty answer.

        If it fails, look at what the adapter does with a tenant that is not a text: an empty
        condition is a search over everybody.
        """
        for value in UNCHECKED:
            query = make_query(place.chunks[0].text, unchecked_tenant(value), mode, k=50)
            place.requests()
            try:
                response = await place.adapter.search(query)
            except InputError:  # a TenantError is one
                assert place.requests() == [], f"tenant {value!r:.40}: refused after a request"
                continue
            uids = [hit.uid for hit in response.hits]
            place.judge(uids, value, f"{mode} search")
            assert response.hits == [], f"tenant {value!r:.40}"

    @pytest.mark.anyio
    async def test_leak_k_beyond_the_rows_brings_no_others(self, place: Filled, mode: Mode) -> None:
        """More asked for than the tenant has: its own, each once, and nothing to fill up.

        If it fails, look for a filter after the search, and for padding of short answers.
        """
        text = place.chunks[0].text
        for tenant in place.tenants:
            found = await place.uids(text, tenant, mode, k=10 * len(place.chunks))
            if mode == "dense" and "exact" in place.subject.cls.capabilities:
                assert set(found) == place.own(tenant)

    @pytest.mark.anyio
    async def test_leak_questions_are_words(self, place: Filled, mode: Mode) -> None:
        """Operators of query languages in a question are words of it: no error, no others.

        If it fails, look at how the text reaches the backend: as a value, never as an
        expression of `query_string`, `to_tsquery` or Lucene's syntax.
        """
        for text in QUESTIONS:
            await place.uids(text, place.tenants[0], mode, k=50)
        with suppress(InputError):  # a question without words may be refused
            await place.uids("", place.tenants[0], mode, k=50)

    @pytest.mark.anyio
    async def test_leak_conditions_cannot_widen(self, place: Filled, mode: Mode) -> None:
        """A user's condition that names another tenant finds own chunks only, or is refused.

        If it fails, look at how `where` is joined: (tenant) AND (conditions), the tenant
        outside, and fields of the adapter's own out of the user's reach.
        """
        place.subject.need("where")
        asker, other = place.tenants[:2]
        for name in ("tenant", "tenant_id", "uid", "id", "a' or 'a' = 'a"):
            try:
                await place.ask(place.chunks[0].text, asker, mode, k=50, where={name: other})
            except RetrieverBenchError:
                continue

    @pytest.mark.anyio
    async def test_leak_interleaved_tenants_never_mix(
        self, place: Filled, subject: Subject
    ) -> None:
        """Tenants that ask at the same time, in all modes, each get their own.

        If it fails, look for a tenant kept on the adapter, its client or a connection.
        """
        texts = [chunk.text for chunk in place.chunks[:: max(1, len(place.chunks) // 5)]]

        async def ask_often(tenant: str, mode: Mode) -> None:
            for text in texts:
                await place.uids(text, tenant, mode)

        async with anyio.create_task_group() as tasks:
            for tenant in place.tenants:
                for mode in subject.modes:
                    tasks.start_soon(ask_often, tenant, mode)

    @pytest.mark.anyio
    async def test_leak_lookalike_tenants_are_different(self, scratch: Filled) -> None:
        """Names that differ by case, a blank, a quote, a wildcard, an accent: each its own.

        A name may be refused, when it is loaded and when it asks, with a TenantError. If it
        fails, look at the type of the tenant field and at the names of places per tenant:
        both must be exact, without analysis, folding or cutting.
        """
        text = "The one paragraph that all of them hold."
        for name in ("acme", *LOOKALIKES):
            try:
                await scratch.add([make_chunk(name, "lookalike", text)])
            except TenantError:
                with pytest.raises(TenantError):
                    await scratch.uids(text, name, scratch.subject.modes[0])
        held = [name for name in ("acme", *LOOKALIKES) if scratch.own(name)]
        for name in held:
            for mode in scratch.subject.modes:
                found = await scratch.uids(text, name, mode, k=50)
                assert found == [make_chunk(name, "lookalike", text).uid], (name, mode)

    @pytest.mark.anyio
    async def test_leak_a_new_place_holds_nothing_of_the_old(
        self, subject: Subject, scratch: Filled
    ) -> None:
        """A place that was closed and is opened again under its name is empty.

        If it fails, look at what `close` removes: everything that this object created.
        """
        text = "Nothing of this paragraph outlives its place."
        settings = subject.settings(scratch.layout)
        for filled in (True, False):
            adapter = await subject.cls.open(settings)
            try:
                place = Filled(subject, scratch.layout, adapter, settings)
                if filled:
                    await place.add([make_chunk("acme", "old", text)])
                    assert await place.uids(text, "acme", subject.modes[0])
                    continue
                await place.writable().settle()
                for mode in subject.modes:
                    assert await place.uids(text, "acme", mode) == [], mode
            finally:
                await adapter.close()

    @pytest.mark.anyio
    async def test_leak_reads_by_id_are_scoped(self, place: Filled) -> None:
        """A foreign uid is answered exactly as one that does not exist: it is not there.

        If it fails, look at the route that reads by id: it takes no filter in most backends,
        so the owner must be part of the request, or be compared before anything is passed on.
        """
        place.subject.need("get")
        for tenant in place.tenants:
            own, foreign = place.own(tenant), set(place.owners) - place.own(tenant)
            found = await _get(place, TenantId(tenant), [*sorted(foreign), *sorted(own), "absent"])
            assert sorted(found) == sorted(own)
            assert await _get(place, TenantId(tenant), sorted(foreign)) == []
        for name in STRANGERS[:6]:
            try:
                assert await _get(place, TenantId(name), sorted(place.owners)) == [], name
            except TenantError:
                continue

    @pytest.mark.anyio
    async def test_leak_deletes_are_scoped_and_complete(self, scratch: Filled) -> None:
        """A tenant deletes its own and nobody else's; what is deleted is found by nobody.

        If it fails, look at the condition of the delete (uid AND tenant), and at what
        `settle` waits for.
        """
        scratch.subject.need("delete")
        text = "A paragraph that one of its two owners deletes."
        gone, kept = (make_chunk(name, "deleted", text) for name in ("deleting", "bystander"))
        await scratch.add([gone, kept])
        assert isinstance(scratch.adapter, Deletes), "'delete' is claimed and missing"
        await scratch.adapter.delete(gone.tenant, [gone.uid, kept.uid, "absent"])
        await scratch.writable().settle()
        del scratch.owners[gone.uid]
        for mode in scratch.subject.modes:
            assert await scratch.uids(text, "deleting", mode) == [], mode
            assert await scratch.uids(text, "bystander", mode) == [kept.uid], mode
        if "get" in scratch.subject.cls.capabilities:
            assert await _get(scratch, gone.tenant, [gone.uid]) == []

    @pytest.mark.anyio
    async def test_leak_moves_change_one_owner(self, scratch: Filled) -> None:
        """After a move the new owner finds the chunk, and the old one nothing of it.

        If it fails, look at where the owner is kept (a copy per leg, partition or index), and
        at caches by tenant.
        """
        scratch.subject.need("move")
        text = "A paragraph that changes hands."
        moved, kept = (make_chunk("giver", id_, text) for id_ in ("moved", "kept"))
        await scratch.add([moved, kept, make_chunk("taker", "moved", text)])
        giver, taker = TenantId("giver"), TenantId("taker")
        assert isinstance(scratch.adapter, Moves), "'move' is claimed and missing"
        await scratch.adapter.move(moved.uid, giver, taker)
        await scratch.writable().settle()
        scratch.owners[moved.uid] = "taker"
        for mode in scratch.subject.modes:
            assert await scratch.uids(text, "giver", mode) == [kept.uid], mode
            assert set(await scratch.uids(text, "taker", mode)) == scratch.own("taker"), mode


async def _get(place: Filled, tenant: TenantId, uids: list[str]) -> list[str]:
    assert isinstance(place.adapter, ReadsById), "'get' is claimed and missing"
    hits = await place.adapter.get(tenant, uids)
    found = [hit.uid for hit in hits]
    place.judge(found, tenant.value, "get")
    for hit in hits:
        text = next(chunk.text for chunk in place.chunks if chunk.uid == hit.uid)
        assert (hit.tenant, hit.text, hit.score) == (tenant.value, text, 1.0), hit
    return found
