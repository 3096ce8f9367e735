"""Answers are right: exact where that is claimed, best first, narrowed by conditions."""

from __future__ import annotations

import pytest

from retrieverbench.model import Mode, Value
from retrieverbench.testing.corpus import cosine, make_chunk, vector_of
from retrieverbench.testing.place import Filled

CONDITIONS: tuple[dict[str, Value], ...] = (
    {"topic": "leave"},
    {"year": 2021},
    {"public": True, "topic": "limit"},
)


class RankingTests:
    """Each for every claimed layout. Order and number are checked in every other test too."""

    @pytest.mark.anyio
    async def test_at_most_k(self, place: Filled, mode: Mode) -> None:
        """No more than k hits, and no fewer where the tenant has more matches.

        If it fails, look at the limit: of the fused list in hybrid mode, and of each leg.
        """
        chunk = place.chunks[0]
        for k in (1, 3):
            hits = await place.ask(chunk.text, chunk.tenant, mode, k)
            assert len(hits) == k, f"{len(hits)} hits for k = {k}"

    @pytest.mark.anyio
    async def test_dense_agrees_with_brute_force(self, place: Filled) -> None:
        """Exact search finds the nearest by cosine, computed here from the tenant's vectors.

        If it fails, look at the metric of the index, and whether the option `exact` is sent.
        Chunks of equal distance may stand in any order.
        """
        place.subject.need("dense", "exact")
        for asked in place.chunks[::7]:
            near = {
                chunk.uid: cosine(chunk.vector or (), vector_of(asked.text))
                for chunk in place.chunks
                if chunk.tenant == asked.tenant
            }
            found = await place.uids(asked.text, asked.tenant, "dense")
            best = sorted(near.values(), reverse=True)[: len(found)]
            assert len(found) == min(10, len(near))
            assert [near[uid] for uid in found] == pytest.approx(best, abs=1e-3)

    @pytest.mark.anyio
    async def test_lexical_returns_matches_only(self, place: Filled) -> None:
        """A word that stands nowhere finds nothing, and a rare one the chunk that holds it.

        If it fails, look for chunks of score 0 that fill the answer up.
        """
        place.subject.need("lexical", "put")
        tenant = place.tenants[0]
        assert await place.uids("zzyzx", tenant, "lexical", k=50) == []
        found = await place.uids("zzyzx number7", tenant, "lexical", k=50)
        assert [uid.rpartition("/")[2] for uid in found] == ["rule#7"]

    @pytest.mark.anyio
    async def test_conditions_are_anded(self, place: Filled, mode: Mode) -> None:
        """Conditions of the user narrow the tenant's own chunks, by value and by type.

        If it fails, look at how `where` is joined with the tenant (AND), and at the stored
        type: 2021 is not "2021", and True is neither 1 nor "true".
        """
        place.subject.need("where", "put")
        tenant = place.tenants[0]
        text = "Paragraph written for everybody"
        for where in CONDITIONS:
            expected = {
                chunk.uid
                for chunk in place.chunks
                if chunk.tenant.value == tenant
                and all(chunk.metadata.get(name) == value for name, value in where.items())
            }
            hits = await place.ask(text, tenant, mode, k=50, where=where)
            assert {hit.uid for hit in hits} == expected, where
        assert await place.ask(text, tenant, mode, where={"year": "2021"}) == []
        assert await place.ask(text, tenant, mode, where={"topic": "nothing"}) == []

    @pytest.mark.anyio
    async def test_ties_are_stable(self, place: Filled, mode: Mode) -> None:
        """The same question is answered in the same order, equal scores included.

        If it fails, look for a second key of the order, or do not claim `stable_ties`.
        """
        place.subject.need("stable_ties")
        chunk = place.chunks[0]
        first = await place.uids(chunk.text, chunk.tenant, mode, k=50)
        for _ in range(5):
            assert await place.uids(chunk.text, chunk.tenant, mode, k=50) == first

    @pytest.mark.anyio
    async def test_wanted_text_and_tenant_are_the_stored_ones(
        self, place: Filled, mode: Mode
    ) -> None:
        """`want` brings the stored text and the stored owner, not those of the question.

        If it fails, look at which fields the answer is made of.
        """
        asked = place.chunks[0]
        hits = await place.ask(asked.text, asked.tenant, mode, k=3, want=("text", "tenant"))
        texts = {chunk.uid: chunk.text for chunk in place.chunks}
        assert hits
        for hit in hits:
            assert (hit.tenant, hit.text) == (asked.tenant.value, texts[hit.uid])

    @pytest.mark.anyio
    async def test_totals_count_own_matches(self, place: Filled, mode: Mode) -> None:
        """`want = {"total"}` counts the tenant's own matches: no fewer than the hits.

        If it fails, look whether the count is of the filtered search; a total over everybody
        tells a tenant how much others have.
        """
        place.subject.need("total")
        for tenant in place.tenants:
            response = await place.adapter.search(
                place.query(place.chunks[0].text, tenant, mode, k=50, want=frozenset({"total"}))
            )
            assert response.total is not None, "'total' is claimed and not told"
            assert len(response.hits) <= response.total <= len(place.own(tenant))

    @pytest.mark.anyio
    async def test_put_replaces_by_uid(self, scratch: Filled) -> None:
        """A second chunk of a uid takes the first one's place, in every mode.

        If it fails, look at the key of the write (the uid), and whether text, vector and
        metadata are all written anew.
        """
        old, new = "An old paragraph on parasols.", "Wholly different wording about umbrellas."
        await scratch.add([make_chunk("replacing", "one", old)])
        await scratch.add([make_chunk("replacing", "one", new)])
        uid = make_chunk("replacing", "one", new).uid
        for mode in scratch.subject.modes:
            hits = await scratch.ask(new, "replacing", mode, want=("text",))
            assert [(hit.uid, hit.text) for hit in hits] == [(uid, new)], mode
        if "lexical" in scratch.subject.modes:
            assert await scratch.uids("parasols", "replacing", "lexical") == []
        assert (await scratch.adapter.describe()).chunks.get("replacing") == 1
