"""What only Elasticsearch has: its vector indices, its fusion, its ways of saying who it is."""

from __future__ import annotations

import pytest

from lucene_support import Backend, Stub, chunk, empty_answer, error_body, query, uids, vector
from retrieverbench.adapter import NOBODY, Attached
from retrieverbench.engines.processes import free_port
from retrieverbench.errors import InputError, Refused, Unsupported
from retrieverbench.model import Chunk, TenantId
from retrieverbench.remote.lucene import TextIndex, tenant_scope
from retrieverbench_adapters.elasticsearch import requests
from retrieverbench_adapters.elasticsearch.options import Search

pytestmark = pytest.mark.anyio

TEXT = TextIndex("english", 1.2, 0.75)


@pytest.mark.parametrize("kind", ["hnsw", "int8_hnsw", "bbq_hnsw"])
async def test_the_vector_index_is_the_one_asked_for(elasticsearch: Backend, kind: str) -> None:
    """Read back from the server, with its parameters."""
    options = {"place": {"vector_index": kind, "m": 24, "ef_construction": 77}}
    # bbq_hnsw needs vectors of at least 64 numbers.
    async with elasticsearch.opened(options=options, dimension=64) as adapter:
        await adapter.put([Chunk("a", TenantId("t"), "x", vector=vector(1, 64))])
        await adapter.settle()
        assert await uids(adapter, query("t", "dense", vector=vector(1, 64))) == ["t/a"]
        settings = (await adapter.describe()).settings
    assert settings["mapping.vector.index_options.type"] == kind
    assert settings["mapping.vector.index_options.m"] == 24
    assert settings["mapping.vector.index_options.ef_construction"] == 77


async def test_exact_search_is_that_of_a_flat_index(elasticsearch: Backend) -> None:
    async with elasticsearch.opened(options={"search": {"exact": True}}) as adapter:
        await adapter.put([chunk("t", "1", "x", 1)])
        settings = (await adapter.describe()).settings
    assert settings["mapping.vector.index_options.type"] == "flat"


def test_both_legs_carry_every_condition() -> None:
    """In the client's fusion and in the server's; nowhere stands a filter beside the kNN."""
    asked = query("a", "hybrid", where={"lang": "en"})
    scope = tenant_scope("rb_x", "filter", asked.tenant)
    filters = [{"term": {"tenant": "a"}}, {"term": {"metadata": '["lang", "en"]'}}]
    words, nearest = requests.legs(asked, scope, Search(), TEXT)
    assert words["query"]["bool"]["filter"] == filters
    assert nearest["knn"]["filter"] == filters
    body = requests.search_body(asked, scope, Search(depth=30), TEXT)
    standard, knn = body["retriever"]["rrf"]["retrievers"]
    assert standard["standard"]["query"]["bool"]["filter"] == filters
    assert knn["knn"]["filter"] == filters
    rrf = body["retriever"]["rrf"]
    assert (rrf["rank_constant"], rrf["rank_window_size"]) == (60, 30)


def test_beside_the_vector_search_each_leg_carries_every_condition_too() -> None:
    asked = query("a", "hybrid", where={"lang": "en"})
    scope = tenant_scope("rb_x", "filter", asked.tenant)
    search = Search(knn_filter="outside")
    words, nearest = requests.legs(asked, scope, search, TEXT)
    body = requests.search_body(asked, scope, search, TEXT)
    both = [leg["standard"]["query"] for leg in body["retriever"]["rrf"]["retrievers"]]
    assert list(map(str, both)) == [str(words["query"]), str(nearest["query"])]
    for leg in both:
        assert leg["bool"]["filter"] == words["query"]["bool"]["filter"]
    assert "filter" not in nearest["query"]["bool"]["must"][0]["knn"]


async def test_fusion_in_the_server_needs_its_licence(elasticsearch: Backend) -> None:
    """The target is not measured, and the index made for it is gone."""
    settings = elasticsearch.settings(options={"search": {"fusion": "server"}})
    with pytest.raises(Unsupported, match=r'fusion = "client".*unknown retriever \[rrf\]'):
        await elasticsearch.open(settings)
    async with elasticsearch.opened(place=settings.place, dimension=8):
        pass  # another schema would be Rejected if the first index were still there


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"concurrency": 101}, "concurrency: 101"),
        (
            {"options": {"search": {"exact": True}, "place": {"vector_index": "hnsw"}}},
            "needs options.place.vector_index 'flat'",
        ),
        ({"endpoint": "localhost"}, "endpoint 'localhost'"),
    ],
)
async def test_wrong_settings_are_refused(changes: dict[str, object], words: str) -> None:
    backend = Backend("elasticsearch", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(InputError) as caught:
        await backend.open(backend.settings(**changes))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("info", "product", "words"),
    [
        (
            (200, {"version": {"number": "8.19.3"}}),
            "Elasticsearch",
            r"elasticsearch\[async\]==8\.\*",
        ),
        (
            (400, error_body("media_type_header_exception", "9")),
            "Elasticsearch",
            "older than client 9",
        ),
        ((200, {"version": {"number": "2.19"}}), None, "something else"),
    ],
)
async def test_a_server_of_another_kind_is_unsupported(
    stub: Stub, info: tuple[int, object], product: str | None, words: str
) -> None:
    stub.info, stub.product = info, product
    backend = Backend("elasticsearch", stub.url)
    with pytest.raises(Unsupported, match=words):
        await backend.open(backend.settings())


async def test_a_key_that_may_only_read_is_enough_and_its_limits_are_said(stub: Stub) -> None:
    """As a node with security answers a key with the right `read` alone; none runs here."""
    stub.info = stub.rest = (403, error_body("security_exception", "unauthorized"))
    counted = {None: 2, "": 1, "a": 3}
    buckets = [{"key": {"tenant": owner}, "doc_count": counted[owner]} for owner in counted]
    stub.body = {**empty_answer(), "aggregations": {"tenants": {"buckets": buckets}}}
    mine = Attached("docs", "_id", "org", ("body",), "v")
    backend = Backend("elasticsearch", stub.url)
    async with backend.opened(place="", attached=mine) as adapter:
        assert await uids(adapter, query("a", "lexical")) == []
        described = await adapter.describe()
    assert described.chunks == {"a": 3, NOBODY: 3}
    assert (described.server_version, described.fidelity) == ("not told to this credential", None)
    assert "view_index_metadata" in described.unchecked[0]
    assert "approximate" in described.properties
    with pytest.raises(Refused, match="unauthorized"):
        await backend.open(backend.settings())
