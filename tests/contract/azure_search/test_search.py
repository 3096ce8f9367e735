"""Rows AZ-37 to AZ-51, 54, 56 to 59, 62, 63: searching. Row 41 is a fixture of scores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from azure_support import FIELDS, VECTOR_SEARCH, Api, definition, vector

OWN_RULE = "an own rule of the stand-in; the service does not have it"


def test_az_37_pages(api: Api) -> None:
    api.load(*({"id": f"{i:04}"} for i in range(1100)))
    assert api.find(top=0).ids == []
    assert len(api.find(top=1).ids) == 1
    whole = api.find(top=1000)
    assert len(whole.ids) == 1000
    assert "@search.nextPageParameters" not in whole.json
    absent = api.find(search="*")
    assert len(absent.ids) == 50
    assert absent.json["@search.nextPageParameters"]["skip"] == 50
    large = api.find(top=2500)
    assert len(large.ids) == 1000
    assert large.json["@search.nextPageParameters"]["skip"] == 1000


@pytest.mark.parametrize("body", [{"skip": 100_001}, {"skip": -1}])
def test_az_38_skip(api: Api, body: dict[str, object]) -> None:
    assert api.search(**body).status == 400


def test_az_39_a_continuation_gives_the_next_page(api: Api) -> None:
    api.load(*({"id": str(i)} for i in range(60)))
    first = api.find(search="*")
    following = api.search(**first.json["@search.nextPageParameters"])
    assert (len(first.ids), len(following.ids)) == (50, 10)
    assert len({*first.ids, *following.ids}) == 60


@pytest.mark.parametrize("text", ["*", "", None])
def test_az_40_everything_scores_one(shared_api: Api, text: str | None) -> None:
    hits = shared_api.find(search=text).json["value"]
    assert [hit["@search.score"] for hit in hits] == [1.0] * 4


def test_az_42_simple_syntax(shared_api: Api) -> None:
    def found(text: str, mode: str = "any") -> str:
        answer = shared_api.find(search=text, searchMode=mode, searchFields="content")
        return "".join(sorted(shared_api.names(answer)))

    assert found("wifi pool") == "123"
    assert found("wifi pool", "all") == "1"
    assert found("wifi -luxury") == "1234"
    assert found("wifi -luxury", "all") == "1"
    assert found('"quiet pool"') == "3"
    assert found(r"lux\*") == ""
    prefix = shared_api.find(search="lux*", searchFields="content").json["value"]
    assert [hit["@search.score"] for hit in prefix] == [1.0]


def test_az_43_full_syntax_that_cannot_be_parsed(api: Api) -> None:
    answer = api.search(search="/.*/.*/", queryType="full")
    assert answer.status == 400
    assert answer.message.startswith("Failed to parse query string at line 1, column 8. See ")


def test_az_44_too_many_clauses(api: Api) -> None:
    answer = api.search(search=" ".join(f"w{i}" for i in range(3001)), searchFields="content")
    assert answer.status == 400
    api.believed(answer.json["error"]["code"] == "ClauseLimitExceeded", answer.message[:200])


def test_az_45_cosine(shared_api: Api) -> None:
    hits = shared_api.find(vectorQueries=[vector(2, 0)]).json["value"]
    scores = [hit["@search.score"] for hit in hits]
    assert scores == [1.0, 0.5, 0.33333334]


@pytest.mark.parametrize(
    ("second", "scores"),
    [
        # Ranks (0, 0), (1, 1), (2, 2) for the same query twice, (0, 2), (1, 1), (2, 0) reversed.
        ((1.0, 0.1), [0.03333333507180214, 0.032786883413791656]),
        ((-1.0, 0.1), [0.03279569745063782, 0.03279569745063782, 0.032786883413791656]),
    ],
    ids=["equal", "reversed"],
)
def test_az_46_fusion(shared_api: Api, second: tuple[float, float], scores: list[float]) -> None:
    queries = [vector(1.0, 0.1), vector(*second)]
    hits = shared_api.find(vectorQueries=queries).json["value"]
    assert [hit["@search.score"] for hit in hits[: len(scores)]] == scores


@pytest.mark.parametrize(
    ("weights", "second", "name", "score"),
    [
        ((2, 0.5), vector(1.0, 0.1), "1", 0.0416666679084301),  # ranks 0 and 0
        ((2, 0.5), vector(1.0, 0.1), "2", 0.04098360240459442),  # 1 and 1
        ((1, 0.2), vector(1.0, 0.1), "1", 0.020000001415610313),  # 0 and 0
        ((1, 2), vector(1.0, 0.1), "2", 0.049180325120687485),  # 1 and 1
        ((1, 2), vector(-1.0, 0.1), "1", 0.048924729228019714),  # 0 and 2
        ((1, 100), vector(0.1, -1.0), "2", 1.6292965412139893),  # 1 and 2
        ((100, 1), vector(1.0, 0.1, k=1), "2", 1.6393442153930664),  # 1 and none
    ],
)
def test_az_47_fusion_with_weights(
    shared_api: Api,
    weights: tuple[float, float],
    second: dict[str, object],
    name: str,
    score: float,
) -> None:
    queries = [vector(1.0, 0.1, weight=weights[0]), {**second, "weight": weights[1]}]
    hits = shared_api.find(vectorQueries=queries).json["value"]
    assert {hit["id"]: hit["@search.score"] for hit in hits}[shared_api.id(name)] == score


def test_az_48_query_vector_of_wrong_length(api: Api) -> None:
    answer = api.search(vectorQueries=[vector(1, 0, 0)])
    api.believed(answer.status == 400, str(answer.status))
    assert answer.status >= 400


def test_az_49_filter_modes(api: Api) -> None:
    api.load(*({"id": str(i), "n": i % 2, "vec": [100 - i, 50 + i]} for i in range(40)))
    body = {"vectorQueries": [vector(2, 1, k=10)], "top": 10}

    def found(mode: str) -> list[str]:
        return api.names(api.find(filter="n eq 1", vectorFilterMode=mode, **body))

    assert found("preFilter") == [str(i) for i in range(1, 20, 2)]
    unfiltered = set(api.search(**body).ids)
    for mode in ("postFilter", "strictPostFilter"):
        names = found(mode)
        assert len(names) <= 10
        assert all(int(name) % 2 for name in names)
    assert {api.id(name) for name in found("strictPostFilter")} <= unfiltered


LACKING: list[dict[str, object]] = [
    {"queryType": "semantic"},
    {"queryType": "full", "search": "wifi~1"},
    {"hybridSearch": {"maxTextRecallSize": 3}},
    {"vectorQueries": [{"kind": "text", "text": "a", "fields": "vec"}]},
    {"vectorQueries": [{**vector(1, 0), "filterOverride": "true"}]},
    {"orderby": "n"},
    {"filter": "search.ismatch('a')"},
    {"dot product": True},
]


@pytest.mark.parametrize("body", LACKING, ids=[next(iter(body)) for body in LACKING])
def test_az_50_what_the_stand_in_lacks(api: Api, body: dict[str, object]) -> None:
    """The stand-in never guesses; the service's answers are recorded."""
    if "dot product" in body:
        algorithm = {"name": "h", "kind": "hnsw", "hnswParameters": {"metric": "dotProduct"}}
        more = {"vectorSearch": VECTOR_SEARCH | {"algorithms": [algorithm]}}
        answer = api.call("POST", "/indexes", definition(f"{api.index}-dots") | more)
        if api.live:
            api.call("DELETE", f"/indexes('{api.index}-dots')")
    else:
        answer = api.search(**body)
    api.believed(answer.status == 501, str(answer.status))
    api.believed("stand-in does not implement" in answer.body.decode(), str(answer.status))


def test_az_51_unknown_parameter(api: Api) -> None:
    answer = api.search(facet="tenant")
    assert answer.status == 400
    expected = "is not a valid parameter for the operation 'search'."
    api.believed(expected in answer.message, answer.message)


def test_az_54_headers(api: Api) -> None:
    asked = api.call("GET", api.path(), headers={"x-ms-client-request-id": api.id("request")})
    for answer in (api.search(), asked, api.search(skip=-1)):
        assert answer.headers["elapsed-time"].isdigit()
        assert answer.headers["request-id"]
    api.believed(asked.headers["request-id"] == api.id("request"), asked.headers["request-id"])


def test_az_56_a_filter_does_not_change_scores(shared_api: Api) -> None:
    def scores(filter_: str) -> dict[str, float]:
        body = {"search": "wifi pool", "scoringStatistics": "global", "sessionId": "az-56"}
        hits = shared_api.find(filter=filter_, **body).json["value"]
        return {hit["id"]: hit["@search.score"] for hit in hits}

    every = scores("true")
    assert len(every) == 3
    assert scores("n eq 3") == {shared_api.id("1"): every[shared_api.id("1")]}


def test_az_57_facets_with_a_text_query(shared_api: Api) -> None:
    facets = ["tenant,count:0", "tags"]
    answer = shared_api.find(search="pool", facets=facets, count=True).json
    keys = [key for key in answer if not key.startswith("@odata.context")]
    assert keys[:3] == ["@odata.count", "@search.facets", "value"]
    counted = {(bucket["value"], bucket["count"]) for bucket in answer["@search.facets"]["tenant"]}
    assert counted == {("O'Neil", 1), ("größe", 1)}


def test_az_58_facets_and_count_with_a_filter(shared_api: Api) -> None:
    answer = shared_api.find(search="pool", facets=["tenant"], filter="n eq 7", count=True).json
    assert answer["@odata.count"] == 1
    assert answer["@search.facets"]["tenant"] == [{"count": 1, "value": "größe"}]


def test_az_59_count_of_vector_and_hybrid(shared_api: Api) -> None:
    only = shared_api.find(vectorQueries=[vector(1, 0, k=2)], count=True).json
    shared_api.believed(only["@odata.count"] == 2, f"vector: {only['@odata.count']}")
    both = shared_api.find(search="luxury", vectorQueries=[vector(-1, 0, k=1)], count=True).json
    shared_api.believed(both["@odata.count"] == 2, f"hybrid: {both['@odata.count']}")


def test_az_62_two_at_once(shared_api: Api) -> None:
    tenants = ["O''Neil", "größe"] * 10
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda t: shared_api.filter(f"tenant eq '{t}'"), tenants))
    assert found == [["1"], ["3"]] * 10


def test_az_63_the_stand_in_says_what_it_is(api: Api) -> None:
    if api.live:
        pytest.skip(OWN_RULE)
    wrong = api.call("GET", api.path(), credential={"api-key": "wrong"})
    created = api.call("POST", "/indexes", {"name": "X", "fields": FIELDS})
    for answer in (api.search(), wrong, created, api.call("GET", "/nowhere")):
        assert answer.headers["x-retrieverbench-fidelity"] == "stand-in"
