"""Opening, loading, settling, describing, closing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from azure_adapter_support import (
    ACME,
    DIMENSION,
    GLOBEX,
    WORDS,
    ask,
    chunks_of,
    opened,
    settings,
    stand_in,
)
from retrieverbench.adapter import Settings
from retrieverbench.engines.azure_search.store import Options as StandInOptions
from retrieverbench.errors import (
    InputError,
    Rejected,
    TimedOut,
)
from retrieverbench.model import MODES, Layout, TenantId
from retrieverbench_adapters.azure_search import AzureSearch

pytestmark = pytest.mark.anyio


async def test_describe_reads_back(loaded: AzureSearch) -> None:
    described = await loaded.describe()
    shared = loaded._settings.layout == "filter"
    assert described.chunks == {"acme": 40, "globex": 40}
    assert described.fidelity == "stand-in"
    own = {"shared_idf"} if shared else set()
    assert described.properties == {"eventual_visibility", "approximate", *own}
    expected = {
        "tenant.filterable": True,
        "tenant.normalizer": None,
        "vector.dimension": DIMENSION,
        "vector.profile": "vectors",
        "vector.index": "hnsw",
        "vector.efSearch": 500,
        "analyzer": "en.lucene",
        "semantic.configurations": "",
        "search.scoring_statistics": "global",
        "search.tenant_filter": "eq" if shared else None,
        "documents": 80,
        "credential": "admin key" if shared else "token",
        "enforced_by": "caller filter" if shared else "storage boundary",
        **({} if shared else {"indexes": 2}),
    }
    assert expected.items() <= described.settings.items()
    assert any("admin key" in line for line in described.weaknesses) == shared
    assert described.unchecked == ()
    json.dumps(described.settings)
    assert await loaded.describe() == described


@pytest.mark.parametrize(("layout", "weak"), [("filter", True), ("index", False)])
async def test_a_filter_after_the_search_is_a_weakness_where_tenants_share(
    layout: Layout, weak: bool
) -> None:
    options = {"search": {"vector_filter_mode": "postFilter"}}
    async with stand_in() as served:
        given = settings(served.endpoint, layout=layout, options=options)
        async with opened(given) as adapter:
            found = (await adapter.describe()).weaknesses
    assert any("vector_filter_mode is postFilter" in line for line in found) == weak
    assert not any("stand-in" in line for line in found), "its fidelity says so"


async def test_a_second_put_replaces(reached: Settings) -> None:
    changed = replace(chunks_of(ACME)[5], text="entirely new wording")
    async with opened(replace(reached, place="rb_again")) as adapter:
        await adapter.put(chunks_of(ACME))
        await adapter.settle()
        await adapter.put([changed])
        await adapter.settle()
        response = await adapter.search(ask("lexical", text="wording", want=frozenset({"text"})))
        assert [(h.uid, h.text) for h in response.hits] == [(changed.uid, "entirely new wording")]
        assert (await adapter.describe()).chunks["acme"] == 40


async def test_reads_deletes_and_moves_touch_the_tenants_own_only(reached: Settings) -> None:
    first, second, third = (f"acme/c{i}" for i in range(3))
    async with opened(replace(reached, place="rb_by_id")) as adapter:
        await adapter.put(chunks_of(ACME, 4) + chunks_of(GLOBEX, 4))
        await adapter.settle()
        read = await adapter.get(ACME, [second, "globex/c0", "acme/none", first, second])
        assert [(hit.uid, hit.tenant) for hit in read] == [(second, "acme"), (first, "acme")]
        assert read[1].text == chunks_of(ACME, 1)[0].text
        assert await adapter.get(TenantId("nobody"), [first]) == []
        await adapter.delete(ACME, [first, "globex/c0"])
        await adapter.move(second, ACME, GLOBEX)
        await adapter.move("globex/c1", ACME, GLOBEX)
        await adapter.move(third, ACME, TenantId("newcomer"))
        await adapter.settle()
        assert (await adapter.describe()).chunks == {"acme": 1, "globex": 5, "newcomer": 1}
        assert await adapter.get(ACME, [first, second, third]) == []
        for mode in MODES:
            response = await adapter.search(ask(mode, GLOBEX, k=50, text=" ".join(WORDS)))
            assert second in [hit.uid for hit in response.hits]


async def test_a_tenant_without_an_index_finds_nothing_and_a_lost_index_is_an_error() -> None:
    async with stand_in() as served, opened(settings(served.endpoint, layout="index")) as adapter:
        asked = ask("lexical", want=frozenset({"total"}))
        empty = await adapter.search(asked)
        assert (empty.hits, empty.total) == ([], 0)
        assert (await adapter.describe()).chunks == {}
        await adapter.put(chunks_of(ACME, 2))
        served.service.indexes.clear()
        with pytest.raises(Rejected, match="404"):
            await adapter.search(asked)


async def test_places_of_one_service_do_not_meet() -> None:
    """Their indexes begin alike; each place counts and removes its own."""
    async with stand_in() as served:
        one = settings(served.endpoint, layout="index", place="rb_one")
        async with opened(one) as first, opened(replace(one, place="rb_one_more")) as second:
            await first.put(chunks_of(ACME, 2))
            await second.put(chunks_of(ACME, 3))
            async with opened(one) as third:
                assert (await third.describe()).chunks == {"acme": 2}
            await first.close()
            assert (await second.describe()).chunks == {"acme": 3}
        assert served.service.indexes == {}


async def test_an_exhaustive_index_is_exact() -> None:
    options = {"place": {"vector_index": "exhaustiveKnn"}}
    async with stand_in() as served, opened(settings(served.endpoint, options=options)) as adapter:
        await adapter.put(chunks_of(ACME, 2))
        described = await adapter.describe()
        assert described.settings["vector.index"] == "exhaustiveKnn"
        assert "approximate" not in described.properties


async def test_a_load_of_several_megabytes_is_cut() -> None:
    """The HTTP client warns of larger bodies, and warnings are errors here."""
    async with stand_in() as served, opened(settings(served.endpoint)) as adapter:
        await adapter.put([replace(c, text="refund " * 50_000) for c in chunks_of(ACME, 4)])
        await adapter.settle()
        assert (await adapter.describe()).chunks == {"acme": 4}


async def test_what_was_put_before_a_break_may_be_counted_late() -> None:
    """When the load goes on, the service counts nothing yet; all must be there after settling."""
    async with stand_in(lag=0.3) as served:
        resuming = replace(settings(served.endpoint), resume=True)
        begun = await AzureSearch.open(resuming)
        await begun.put(chunks_of(ACME, 10))
        await begun.close()
        async with opened(resuming) as going_on:
            assert (await going_on.describe()).chunks == {}
            await going_on.put(chunks_of(ACME, 10) + chunks_of(GLOBEX, 10))
            await going_on.settle()
            assert (await going_on.describe()).chunks == {"acme": 10, "globex": 10}


async def test_settle_waits_for_what_lags() -> None:
    async with stand_in(lag=0.5) as served, opened(settings(served.endpoint)) as adapter:
        await adapter.put(chunks_of(ACME, 3))
        assert (await adapter.search(ask("dense"))).hits == []
        await adapter.settle()
        assert len((await adapter.search(ask("dense"))).hits) == 3
        await adapter.put([replace(chunks_of(ACME, 3)[2], text="newest words")])
        await adapter.settle()
        assert len((await adapter.search(ask("lexical", text="newest"))).hits) == 1


async def test_settle_waits_for_every_chunk_and_not_for_the_last_alone() -> None:
    """The last chunk is there already; the one before it lags."""
    first, second = chunks_of(ACME, 2)
    async with stand_in() as served, opened(settings(served.endpoint)) as adapter:
        await adapter.put([second])
        await adapter.settle()
        index = served.service.indexes["rb_test"]
        index.options = StandInOptions(lag=0.5)
        await adapter.put([first, second])
        await adapter.settle()
        assert len((await adapter.search(ask("dense"))).hits) == 2


async def test_uploads_at_once_are_all_counted() -> None:
    """Each adds to the count of its index, which others change while it waits for the service."""
    async with stand_in() as served, opened(settings(served.endpoint)) as adapter:
        async with anyio.create_task_group() as tasks:
            for chunk in chunks_of(ACME, 8):
                tasks.start_soon(adapter.put, [chunk])
        with anyio.fail_after(20):
            await adapter.settle()
        assert (await adapter.describe()).chunks == {"acme": 8}


async def test_settle_has_a_deadline() -> None:
    options: Mapping[str, Mapping[str, object]] = {"place": {"settle_seconds": 0.2}}
    async with (
        stand_in(lag=60.0) as served,
        opened(settings(served.endpoint, options=options)) as adapter,
    ):
        await adapter.put(chunks_of(ACME, 3))
        with pytest.raises(TimedOut, match="0 of 3 documents visible"):
            await adapter.settle()


async def test_close_removes_only_what_it_made() -> None:
    async with stand_in() as served, opened(settings(served.endpoint)) as first:
        await first.put(chunks_of(ACME, 2))
        async with opened(settings(served.endpoint)) as second:
            await second.settle()
            assert (await second.describe()).chunks == {"acme": 2}
        with pytest.raises(Rejected, match=r"another schema: fields.vector.dimensions is 8"):
            await AzureSearch.open(settings(served.endpoint, dimension=9))
        assert list(served.service.indexes) == ["rb_test"]
        await first.close()
        await first.close()
        assert served.service.indexes == {}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"endpoint": "http://example.org"}, "would send the key in clear"),
        ({"endpoint": "localhost:80"}, "is no URL"),
        ({"secrets": {}}, "secrets.api_key: missing"),
        ({"place": "users_index"}, "does not begin with 'rb_'"),
        ({"options": {"connect": {"auth": "entra"}}}, "a token is sent over https only"),
        ({"options": {"connect": {"ca_file": "/no/such"}}}, "connect.ca_file: no file '/no/such'"),
        ({"options": {"connect": {"ca_file": __file__}}}, "holds no certificates that can be read"),
        ({"options": {"connect": {"auth": "password"}}}, "connect.auth"),
        ({"layout": "rls"}, "layout: 'rls' is not supported"),
        ({"dimension": 0}, "dimension: 0"),
        ({"options": {"search": {"exakt": True}}}, "did you mean 'exact'"),
        ({"options": {"place": {"m": 99}}}, "options: place.m"),
    ],
)
async def test_wrong_settings_send_nothing(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        await AzureSearch.open(replace(settings("http://127.0.0.1:1"), **changes))
