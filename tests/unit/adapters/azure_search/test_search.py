"""What the adapter finds, by brute force; what it finds for hostile names and texts."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from dataclasses import replace
from typing import Any

import anyio
import anyio.abc
import pytest

from azure_adapter_support import (
    ACME,
    GLOBEX,
    HOSTILE,
    WORDS,
    ask,
    chunks_of,
    opened,
    owners,
)
from retrieverbench.errors import (
    InputError,
    Rejected,
    Unsupported,
)
from retrieverbench.model import MODES, Mode, TenantId
from retrieverbench_adapters.azure_search import AzureSearch, requests

pytestmark = pytest.mark.anyio


async def test_dense_is_brute_force(loaded: AzureSearch) -> None:
    """If it fails, look at the score's transform 1 / (2 - cos) and at the filter mode."""
    asked = ask("dense", k=40)
    response = await loaded.search(asked)
    assert asked.vector is not None
    expected = {
        chunk.uid: 1 / (2 - _cosine(asked.vector, chunk.vector or asked.vector))
        for chunk in chunks_of(ACME)
    }
    assert [h.uid for h in response.hits] == sorted(expected, key=lambda u: -expected[u])
    assert {h.uid: h.score for h in response.hits} == pytest.approx(expected, rel=1e-6)


def _cosine(a: array[float], b: array[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


async def test_lexical_is_brute_force_bm25(loaded: AzureSearch) -> None:
    """Statistics are those of both tenants. Lengths are kept in one byte, hence a tolerance."""
    every = chunks_of(ACME) + chunks_of(GLOBEX)
    counts = {c.uid: Counter(c.searchable_text.lower().split()) for c in every}
    mean = sum(count.total() for count in counts.values()) / len(counts)

    def score(count: Counter[str]) -> float:
        total = 0.0
        for term in ("refund", "travel"):
            containing = sum(term in other for other in counts.values())
            idf = math.log(1 + (len(counts) - containing + 0.5) / (containing + 0.5))
            frequency = count[term]
            damping = 1.2 * (0.25 + 0.75 * count.total() / mean)
            total += idf * frequency * 2.2 / (frequency + damping)
        return total

    expected = {u: s for u, c in counts.items() if (s := score(c)) > 0 and u.startswith("acme/")}
    response = await loaded.search(ask("lexical", k=100, text="refund travel"))
    assert {h.uid for h in response.hits} == set(expected)
    assert {h.uid: h.score for h in response.hits} == pytest.approx(expected, rel=0.25)
    assert response.hits[0].uid in sorted(expected, key=lambda u: -expected[u])[:3]


async def test_hybrid_is_the_fusion_of_both_lists(loaded: AzureSearch) -> None:
    lists = [await loaded.search(ask(mode, k=50)) for mode in ("lexical", "dense")]
    fused: Counter[str] = Counter()
    for response in lists:
        for rank, hit in enumerate(response.hits):
            fused[hit.uid] += 1 / (60 + rank)  # type: ignore[assignment]
    response = await loaded.search(ask("hybrid", k=50))
    assert {h.uid: h.score for h in response.hits} == pytest.approx(dict(fused), rel=1e-6)
    scores = [h.score for h in response.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", MODES)
async def test_each_tenant_sees_its_own_only_and_the_filter_is_why(
    loaded: AzureSearch, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tenant in (ACME, GLOBEX):
        response = await loaded.search(ask(mode, tenant, k=100))
        assert response.hits
        assert owners([h.uid for h in response.hits]) == {tenant.value}
        assert {h.tenant for h in response.hits} == {tenant.value}
    assert (await loaded.search(ask(mode, TenantId("nobody")))).hits == []
    monkeypatch.setattr(requests, "tenant_filter", lambda *_: "true")
    unfiltered = await loaded.search(ask(mode, k=100))
    shared = loaded._settings.layout == "filter"
    assert owners([h.uid for h in unfiltered.hits]) == {"acme", *(["globex"] if shared else [])}


@pytest.mark.parametrize("form", ["eq", "search.in"])  # own indexes: no condition is sent
async def test_hostile_tenants_get_exactly_their_own(loaded: AzureSearch, form: str) -> None:
    reached = loaded._settings
    options = {**reached.options, "search": {"tenant_filter": form}}
    tenants = [ACME, GLOBEX, *map(TenantId, HOSTILE)]
    async with opened(replace(reached, place="rb_hostile", options=options)) as adapter:
        await adapter.put([chunk for t in tenants for chunk in chunks_of(t, 2)])
        await adapter.settle()
        described = await adapter.describe()
        assert described.chunks == {tenant.value: 2 for tenant in tenants}
        strangers = ("acm", "acme2", "Acme' or 'a' eq 'a", "GLOBEX", "globex' or tenant eq 'acme")
        for mode in MODES:
            for tenant in tenants:
                found = await adapter.search(ask(mode, tenant, k=50, text=" ".join(WORDS)))
                assert sorted(h.uid for h in found.hits) == [c.uid for c in chunks_of(tenant, 2)]
            for name in strangers:
                assert (await adapter.search(ask(mode, TenantId(name)))).hits == []


@pytest.mark.parametrize(
    "text",
    [
        "-refund",
        "refund -policy +leave",
        "*",
        "re*",
        '"refund" (policy) | leave\\',
        "zzz* -yyy",
        "' or 1 eq 1",
        "\u0000 refund",
        "tenant:globex",
        "C++ -O2",
    ],
)
async def test_query_texts_are_words(loaded: AzureSearch, text: str) -> None:
    """No operator: only chunks with one of the words, all of them the tenant's."""
    words = {w for w in WORDS if w in text.replace("*", " ").replace('"', " ")}
    response = await loaded.search(ask("lexical", k=100, text=text))
    assert owners([h.uid for h in response.hits]) <= {"acme"}
    expected = {c.uid for c in chunks_of(ACME) if words & set(c.text.split())}
    assert {h.uid for h in response.hits} == expected


async def test_where_is_typed_equality(loaded: AzureSearch) -> None:
    async def found(**where: Any) -> int:
        return len((await loaded.search(ask("dense", k=100, where=where))).hits)

    years = sum(chunk.metadata["year"] == 2021 for chunk in chunks_of(ACME))
    assert await found(year=2021) == await found(year=2021.0) == years
    assert await found(year="2021") == await found(open=1) == await found(Open=True) == 0
    assert await found(open=True) == 20
    assert 0 < await found(open=True, year=2021) < 20


async def test_wanted_parts_of_an_answer(loaded: AzureSearch) -> None:
    every = {chunk.uid: chunk for chunk in chunks_of(ACME)}
    response = await loaded.search(ask("lexical", k=50, want=frozenset({"text", "total"})))
    assert response.total == len(response.hits)
    assert all(hit.text == every[hit.uid].text for hit in response.hits)
    assert response.server_ms is not None
    plain = await loaded.search(ask("lexical", k=3))
    assert (len(plain.hits), plain.total, plain.hits[0].text) == (3, None, None)


async def test_32_at_once_each_get_their_own(loaded: AzureSearch) -> None:
    """AZ-62, many times: one client, different tenants and modes at the same time."""
    seen: list[tuple[str, set[str]]] = []

    async def search(i: int) -> None:
        tenant = (ACME, GLOBEX)[i % 2]
        response = await loaded.search(ask(MODES[i % 3], tenant, k=30))
        seen.append((tenant.value, owners([h.uid for h in response.hits])))

    async with anyio.create_task_group() as tasks:
        for i in range(32):
            tasks.start_soon(search, i)
    assert len(seen) == 32
    assert all(found == {tenant} for tenant, found in seen)


async def test_wrong_queries_send_nothing(loaded: AzureSearch) -> None:
    with pytest.raises(Unsupported, match="1000 at most"):
        await loaded.search(ask("dense", k=1001))
    with pytest.raises(InputError, match="empty"):
        await loaded.search(ask("lexical", text=" "))
    with pytest.raises(InputError, match="without a vector"):
        await loaded.search(replace(ask("hybrid"), vector=None))
    with pytest.raises(Rejected, match="expects a length of '8'"):
        await loaded.search(replace(ask("dense"), vector=array("f", [1.0])))
