"""What only OpenSearch has: the filter inside k-NN, fusion by a pipeline, its own version."""

from __future__ import annotations

from typing import Any, cast

import pytest

from lucene_support import Backend, Stub, chunk, empty_answer, query
from retrieverbench.errors import AdapterError, Rejected, Unsupported
from retrieverbench.remote.lucene import KnnFilter, TextIndex, tenant_scope
from retrieverbench_adapters import opensearch as adapter_module
from retrieverbench_adapters.opensearch import OpenSearch, Options, Search

pytestmark = pytest.mark.anyio

TEXT = TextIndex("english", 1.2, 0.75)
FILTERS = [{"term": {"tenant": "a"}}, {"term": {"metadata": '["lang", "en"]'}}]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("knn_filter", ["inside", "outside"])
def test_every_leg_carries_every_condition(exact: bool, knn_filter: KnnFilter) -> None:
    """In the server's fusion and in the client's; beside the k-NN only where that is asked for."""
    asked = query("a", "hybrid", where={"lang": "en"})
    search = Search(exact=exact, depth=30, rrf_k=7, knn_filter=knn_filter)
    settings = Backend("opensearch", "http://localhost").settings(place="rb_x")
    adapter = OpenSearch(settings, Options(search=search), cast("Any", None))
    (body,) = adapter._bodies(asked, {"a": "pipeline"})
    words, nearest = body["query"]["hybrid"]["queries"]
    assert body["query"]["hybrid"]["pagination_depth"] == 30
    assert words["bool"]["filter"] == FILTERS
    if knn_filter == "inside":
        kept = nearest["script_score"]["query"] if exact else nearest["knn"]["vector"]["filter"]
        assert kept == {"bool": {"filter": FILTERS}}
    else:
        assert nearest["bool"]["filter"] == FILTERS
    assert body["search_pipeline"] == {"a": "pipeline"}
    legs = adapter._bodies(asked, None)
    assert [leg["size"] for leg in legs] == [30, 30]
    assert legs[0]["query"]["bool"]["filter"] == FILTERS
    assert [str(leg["query"]) for leg in legs] == [str(words), str(nearest)]


@pytest.mark.parametrize(
    ("served", "place"),
    [((2, 19), {"parameters": {"rank_constant": 7}}), ((3, 6), {"rank_constant": 7})],
)
def test_the_constant_stands_where_this_version_reads_it(
    served: tuple[int, ...], place: dict[str, object]
) -> None:
    """Elsewhere it is ignored without an error; the test on the node would tell for 2.19."""
    (processor,) = adapter_module._pipeline(Search(rrf_k=7), served)["phase_results_processors"]
    combination = processor["score-ranker-processor"]["combination"]
    assert combination == {"technique": "rrf", **place}


async def test_more_words_than_the_server_takes_are_refused(opensearch: Backend) -> None:
    text = " ".join(f"w{n}" for n in range(1100))
    async with opensearch.opened() as adapter:
        await adapter.put([chunk("a", "1", "leave", 1)])
        await adapter.settle()
        with pytest.raises(Rejected, match="maxClauseCount"):
            await adapter.search(query("a", "lexical", text))


def test_the_width_of_the_search_is_always_sent() -> None:
    """The server's default is k, with which recall falls."""
    asked = query("a", "dense", k=200)
    scope = tenant_scope("rb_x", "filter", asked.tenant)
    for k, width in ((10, 100), (200, 200)):
        nearest = adapter_module._nearest(asked, scope, k, Search(), TEXT)
        assert nearest["knn"]["vector"]["method_parameters"] == {"ef_search": width}


async def test_vectors_are_indexed_by_lucene(opensearch: Backend) -> None:
    """The engine left out would be faiss, whose library the node lacks: it would break its data."""
    place = {"m": 24, "ef_construction": 77}
    async with opensearch.opened(options={"place": place}) as adapter:
        settings = (await adapter.describe()).settings
    assert settings["mapping.vector.method.engine"] == "lucene"
    assert settings["mapping.vector.method.parameters.m"] == 24
    assert settings["mapping.vector.method.parameters.ef_construction"] == 77


async def test_a_server_that_ignores_the_pipeline_is_found_out(stub: Stub) -> None:
    """Without it the scores are meaningless, and the answer is no error."""
    hit = {"_score": -9549511700.0, "fields": {"uid": ["a/1"], "tenant": ["a"]}}
    stub.body = {**empty_answer(), "hits": {"hits": [hit]}}
    backend = Backend("opensearch", stub.url)
    async with backend.opened() as adapter:
        with pytest.raises(AdapterError, match="did not fuse"):
            await adapter.search(query("a", "hybrid"))


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ({"number": "9.5.3", "build_type": "docker"}, "something else"),
        ({"number": "2.18.0", "distribution": "opensearch"}, "2.19 or newer"),
    ],
)
async def test_another_server_is_unsupported(
    stub: Stub, version: dict[str, str], words: str
) -> None:
    stub.info = (200, {"version": version})
    backend = Backend("opensearch", stub.url)
    with pytest.raises(Unsupported, match=words):
        await backend.open(backend.settings())
