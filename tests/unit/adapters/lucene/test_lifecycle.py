"""From open to close: written, settled, described, and gone afterwards."""

from __future__ import annotations

import json
import urllib.request

import anyio
import pytest

from lucene_support import LAYOUTS, Backend, chunk, query, uids, vector
from retrieverbench.adapter import Writable
from retrieverbench.errors import Rejected
from retrieverbench.model import MODES, Layout

pytestmark = pytest.mark.anyio


def _indices(backend: Backend, place: str) -> list[str]:
    """What the server has under a place's name, asked without the adapter."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{backend.endpoint}/{place}*?allow_no_indices=true") as answer:
        return sorted(json.load(answer))


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_put_replaces_and_settle_shows(backend: Backend, layout: Layout) -> None:
    """After settle the new text is found and the old one is not; nothing is doubled."""
    options = {"place": {"force_merge": True}}
    async with backend.opened(layout=layout, options=options) as adapter:
        assert isinstance(adapter, Writable)
        await adapter.put([chunk("a", "1", "refund", 1), chunk("a", "2", "incident", 2)])
        await adapter.settle()
        await adapter.put([chunk("a", "1", "limits", 3)])
        await adapter.settle()
        assert await uids(adapter, query("a", "lexical", "refund")) == []
        assert await uids(adapter, query("a", "lexical", "limit")) == ["a/1"]
        assert (await adapter.describe()).chunks == {"a": 2}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_close_removes_only_what_was_made(backend: Backend, layout: Layout) -> None:
    """A second object finds the same schema, reads, and leaves the indices where they are."""
    settings = backend.settings(layout=layout)
    first = await backend.open(settings)
    await first.put([chunk(f"t{n}", "1", "leave policy", n) for n in range(5)])
    await first.settle()
    second = await backend.open(settings)
    assert await uids(second, query("t3", "lexical")) == ["t3/1"]
    await second.close()
    assert await uids(first, query("t3", "lexical")) == ["t3/1"]
    assert len(_indices(backend, settings.place)) == (5 if layout == "index" else 1)
    await first.close()
    await first.close()
    assert _indices(backend, settings.place) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": "text"}, "not keyword"),
        ({"type": "keyword", "normalizer": "lowercase"}, "normalizer"),
        ({"type": "keyword", "ignore_above": 100}, "ignores values above 100"),
    ],
)
async def test_an_index_whose_tenant_field_is_not_exact_is_refused(
    backend: Backend, change: dict[str, object], words: str
) -> None:
    """It exists with the wanted fields; only the way in which tenants are compared differs."""
    settings = backend.settings()
    adapter = await backend.open(settings)
    body = adapter._indices.body
    await adapter.close()
    body["mappings"]["properties"]["tenant"] = change
    request = urllib.request.Request(
        f"{backend.endpoint}/{settings.place}",
        method="PUT",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(request).close()
    with pytest.raises(Rejected, match=rf"another schema .*({words}|tenant\.type is text)"):
        await backend.open(settings)
    delete = urllib.request.Request(f"{backend.endpoint}/{settings.place}", method="DELETE")
    opener.open(delete).close()


async def test_describe_reads_back_and_is_stable(backend: Backend) -> None:
    place = {"analyzer": "standard", "k1": 0.9, "b": 0.4}
    async with backend.opened(options={"place": place}) as adapter:
        await adapter.put([chunk(f"t{n:04}", "1", "x", n) for n in range(1500)])
        await adapter.settle()
        first = await adapter.describe()
        await adapter.search(query("t0001", "hybrid"))
        assert await adapter.describe() == first
    assert len(first.chunks) == 1500  # more than one page of the counting search
    assert set(first.chunks.values()) == {1}
    assert backend.started is not None
    assert first.server_version == backend.started.version
    assert first.fidelity == backend.started.fidelity == "engine"
    assert first.properties == {"shared_idf", "approximate"}
    assert first.weaknesses == ()
    wanted = {
        "mapping.text.analyzer": "standard",
        "similarity.bm25.k1": "0.9",
        "similarity.bm25.b": "0.4",
        "tenant_field_exact": True,
        "isolation": "filter",
    }
    assert {name: first.settings[name] for name in wanted} == wanted
    assert first.settings["request.fusion"] in {"client", "server"}


async def test_long_uids_stay_apart(backend: Backend) -> None:
    """Longer than an _id may be, and equal in all that fits into one."""
    chunks = [chunk("a", "ü" * 400 + end, "leave policy", 1) for end in "xy"]
    async with backend.opened() as adapter:
        await adapter.put(chunks)
        await adapter.settle()
        assert await uids(adapter, query("a", "lexical")) == [one.uid for one in chunks]


async def test_a_small_batch_size_sends_everything(backend: Backend) -> None:
    async with backend.opened(options={"place": {"batch_bytes": 700}}) as adapter:
        await adapter.put([chunk("a", str(n), "leave policy", n) for n in range(50)])
        await adapter.settle()
        assert (await adapter.describe()).chunks == {"a": 50}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_32_at_once_answer_as_one_after_another(backend: Backend, layout: Layout) -> None:
    """Interleaved tenants and modes, each with its own answer."""
    queries = [query(f"t{n % 4}", MODES[n % 3], k=3, vector=vector(n)) for n in range(32)]
    async with backend.opened(concurrency=32, layout=layout) as adapter:
        await adapter.put([chunk(f"t{n % 4}", str(n), f"leave {n}", n) for n in range(80)])
        await adapter.settle()
        alone = [await uids(adapter, one) for one in queries]
        together: dict[int, list[str]] = {}

        async def ask(number: int) -> None:
            together[number] = await uids(adapter, queries[number])

        async with anyio.create_task_group() as tasks:
            for number in range(32):
                tasks.start_soon(ask, number)
    assert [together[number] for number in range(32)] == alone
    assert all(uid.startswith(f"t{n % 4}/") for n in range(32) for uid in together[n])


async def test_a_cancelled_search_harms_no_other(backend: Backend) -> None:
    async with backend.opened(concurrency=1) as adapter:
        await adapter.put([chunk(t, "1", "leave policy", n) for n, t in enumerate("ab")])
        await adapter.settle()
        for _ in range(5):
            with anyio.move_on_after(0.001):
                await adapter.search(query("a", "hybrid"))
            assert await uids(adapter, query("b", "hybrid")) == ["b/1"]
