"""Rows of the conformance table (AZ-nn) over HTTP, against the stand-in as a process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

import pytest
from anyio.from_thread import start_blocking_portal

from retrieverbench.engines.azure_search import start

VERSION = "2026-04-01"
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "Edm.String", "key": True},
    {"name": "content", "type": "Edm.String", "analyzer": "standard.lucene"},
    {"name": "tenant", "type": "Edm.String"},
    {"name": "tags", "type": "Collection(Edm.String)"},
    {"name": "n", "type": "Edm.Int32"},
    {"name": "x", "type": "Edm.Double"},
    {"name": "open", "type": "Edm.Boolean"},
    {"name": "at", "type": "Edm.DateTimeOffset"},
    {"name": "hidden", "type": "Edm.String", "filterable": False, "searchable": False},
    {"name": "vec", "type": "Collection(Edm.Single)", "dimensions": 2, "vectorSearchProfile": "p"},
]
VECTOR_SEARCH = {
    "algorithms": [{"name": "h", "kind": "hnsw"}],
    "profiles": [{"name": "p", "algorithm": "h"}],
}
DOCUMENTS: list[dict[str, Any]] = [
    {
        "id": "1",
        "content": "wifi and pool",
        "tenant": "O'Neil",
        "tags": ["Budget hotel", "wifi"],
        "n": 3,
        "x": 0.5,
        "open": True,
        "at": "2020-01-01T00:00:00Z",
        "vec": [1, 0],
    },
    {
        "id": "2",
        "content": "wifi luxury",
        "tenant": "o'neil",
        "tags": ["Sea View motel"],
        "n": 5,
        "x": 2.0,
        "open": False,
        "at": "2021-01-01T00:00:00+01:00",
        "vec": [0, 1],
    },
    {
        "id": "3",
        "content": "quiet pool pool",
        "tenant": "größe",
        "tags": ["a"],
        "n": 7,
        "vec": [-1, 0],
    },
    {"id": "4", "content": "nothing here", "tags": []},
]


@dataclass(frozen=True)
class Answer:
    """One HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        return str(self.json["error"]["message"])

    @property
    def ids(self) -> list[str]:
        assert self.status == 200, self.body
        return [hit["id"] for hit in self.json["value"]]


@dataclass(frozen=True)
class Api:
    """A caller with a key, on one index."""

    port: int
    key: str
    query_key: str
    index: str

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        version: str | None = VERSION,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        given = {"api-key": self.key if key is None else key, **(headers or {})}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        joint = "&" if "?" in path else "?"
        url = quote(path, safe="/()'$?=&,%") + (f"{joint}api-version={version}" if version else "")
        try:
            connection.request(method, url, content if body is not None else None, given)
            answer = connection.getresponse()
            return Answer(
                answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
            )
        finally:
            connection.close()

    def write(self, *actions: object) -> Answer:
        path = f"/indexes('{self.index}')/docs/search.index"
        return self.call("POST", path, {"value": list(actions)})

    def search(self, **body: object) -> Answer:
        return self.call("POST", f"/indexes('{self.index}')/docs/search.post.search", body)

    def filter(self, text: str) -> Answer:
        return self.search(filter=text, search="*")

    def count(self) -> int:
        body = self.call("GET", f"/indexes('{self.index}')/docs/$count").body
        return int(body.decode("utf-8-sig"))


def definition(name: str) -> dict[str, Any]:
    return {"name": name, "fields": FIELDS, "vectorSearch": VECTOR_SEARCH}


@pytest.fixture(scope="module")
def service() -> Iterator[Api]:
    """One process for the module; its index `hotels` holds DOCUMENTS and is only read."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(start({})) as started:
        port = int(started.endpoint.rpartition(":")[2])
        keys = (started.secrets["api_key"].reveal(), started.secrets["query_key"].reveal())
        api = Api(port, *keys, "hotels")
        assert api.call("POST", "/indexes", definition("hotels")).status == 201
        assert api.write(*DOCUMENTS).status == 200
        yield api


@pytest.fixture
def fresh(service: Api, request: pytest.FixtureRequest) -> Api:
    """An empty index of the test's own."""
    name = f"t{abs(hash(request.node.name)) % 10**9}"
    assert service.call("POST", "/indexes", definition(name)).status == 201
    return Api(service.port, service.key, service.query_key, name)


def test_az_01_08_create_echoes_the_definition_with_attributes_true(service: Api) -> None:
    created = service.call("POST", "/indexes", definition("created"))
    assert created.status == 201
    assert created.headers["etag"].startswith('W/"0x8D')
    assert "created" in created.headers["location"]
    assert created.json["@odata.etag"].startswith('"0x8D')
    content = next(f for f in created.json["fields"] if f["name"] == "content")
    flags = ("filterable", "sortable", "facetable", "retrievable", "searchable")
    assert all(content[flag] is True for flag in flags)


def test_az_02_create_twice_conflicts(service: Api) -> None:
    answer = service.call("POST", "/indexes", definition("hotels"))
    assert answer.status == 409
    assert answer.json["error"]["code"] == "ResourceNameAlreadyInUse"


def test_az_03_put_creates_then_updates(service: Api) -> None:
    first = service.call("PUT", "/indexes('put-twice')", definition("put-twice"))
    second = service.call("PUT", "/indexes('put-twice')", definition("put-twice"))
    assert (first.status, second.status) == (201, 200)
    assert first.headers["etag"] != second.headers["etag"]


def test_put_cannot_change_a_field(service: Api) -> None:
    changed = definition("hotels")
    changed["fields"] = [*FIELDS[:-1], {**FIELDS[-1], "dimensions": 3}]
    assert service.call("PUT", "/indexes('hotels')", changed).status == 400


def test_az_04_stale_etag(fresh: Api) -> None:
    path = f"/indexes('{fresh.index}')"
    answer = fresh.call("DELETE", path, headers={"If-Match": '"0x8D0"'})
    assert answer.status == 412
    assert answer.message.startswith("The precondition given in one of the request headers")


def test_az_05_06_delete_and_missing(fresh: Api) -> None:
    path = f"/indexes('{fresh.index}')"
    assert fresh.call("DELETE", path).status == 204
    assert fresh.call("DELETE", path).status == 404
    assert fresh.call("GET", path).status == 404
    assert f"The index '{fresh.index}' for service" in fresh.search().message


def test_az_07_vector_field_needs_dimensions(service: Api) -> None:
    field = {"name": "v", "type": "Collection(Edm.Single)"}
    answer = service.call("POST", "/indexes", {"name": "bad", "fields": [FIELDS[0], field]})
    assert answer.status == 400
    assert "The vector field 'v' must have the property 'dimensions' set." in answer.message


def test_az_09_statistics(service: Api) -> None:
    statistics = service.call("GET", "/indexes('hotels')/search.stats").json
    assert statistics["documentCount"] == len(DOCUMENTS)
    assert statistics["vectorIndexSize"] == 3 * 2 * 4
    counters = service.call("GET", "/servicestats").json["counters"]
    assert counters["documentCount"]["usage"] >= len(DOCUMENTS)


def test_az_10_count_is_text_with_a_byte_order_mark(service: Api) -> None:
    answer = service.call("GET", "/indexes('hotels')/docs/$count")
    assert answer.body == "\ufeff4".encode()
    assert answer.headers["content-type"].startswith("text/plain")


def test_az_11_missing_document_is_silent(service: Api) -> None:
    answer = service.call("GET", "/indexes('hotels')/docs('missing')")
    assert (answer.status, answer.body) == (404, b"")
    assert "content-type" not in answer.headers


def test_az_12_13_14_items_and_their_status(fresh: Api) -> None:
    assert [i["statusCode"] for i in fresh.write({"id": "a"}).json["value"]] == [201]
    assert [i["statusCode"] for i in fresh.write({"id": "a"}).json["value"]] == [200]
    answer = fresh.write({"@search.action": "merge", "id": "z"}, {"id": "b"})
    assert answer.status == 207
    assert [(i["statusCode"], i["status"]) for i in answer.json["value"]] == [
        (404, False),
        (201, True),
    ]
    assert answer.json["value"][0]["errorMessage"] == "Document not found."
    gone = fresh.write({"@search.action": "delete", "id": "never"})
    assert (gone.status, gone.json["value"][0]["statusCode"]) == (200, 200)


def test_merge_replaces_fields_and_null_clears(fresh: Api) -> None:
    fresh.write({"id": "a", "tags": ["x", "y"], "n": 1, "tenant": "t"})
    fresh.write({"@search.action": "mergeOrUpload", "id": "a", "tags": ["z"], "n": None})
    found = fresh.call("GET", f"/indexes('{fresh.index}')/docs('a')").json
    assert (found["tags"], found["n"], found["tenant"]) == (["z"], None, "t")


@pytest.mark.parametrize(
    ("action", "text"),
    [
        pytest.param({"n": 1}, "0: Document key cannot be missing or empty.", id="az_15"),
        pytest.param({"id": "a b"}, "Invalid document key: 'a b'.", id="az_16_blank"),
        pytest.param({"id": ".x"}, "Invalid document key", id="az_16_dot"),
        pytest.param({"id": "_x"}, "Invalid document key", id="az_16_underscore"),
        pytest.param({"id": "x" * 1025}, "Invalid document key", id="az_16_long"),
        pytest.param({"id": "a", "what": 1}, "The property 'what' does not exist", id="az_17"),
        pytest.param({"id": "a", "vec": [1, 2, 3]}, "has a length of '3'", id="az_18"),
        pytest.param({"id": "a", "vec": [float("nan"), 0]}, "not valid JSON", id="az_19"),
        pytest.param({"id": "a", "n": "1"}, "Cannot convert", id="wrong_type"),
        pytest.param({"id": "a", "n": True}, "Cannot convert", id="bool_is_no_int"),
        pytest.param({"id": "a", "tags": "one"}, "Cannot convert", id="collection"),
    ],
)
def test_az_15_to_19_one_malformed_item_fails_all(
    fresh: Api, action: dict[str, object], text: str
) -> None:
    answer = fresh.write({"id": "good"}, action) if "0:" not in text else fresh.write(action)
    assert answer.status == 400
    assert text in answer.message
    assert fresh.count() == 0


def test_az_20_21_22_limits(fresh: Api) -> None:
    assert "No indexing actions found in the request." in fresh.write().message
    many = fresh.write(*({"id": str(i)} for i in range(1001)))
    assert (many.status, "too many indexing actions" in many.message) == (400, True)
    large = fresh.write({"id": "a", "content": "x" * (16 * 1024 * 1024)})
    assert (large.status, large.body) == (413, b"")
    assert fresh.count() == 0


def test_an_immense_term_fails_its_item_alone(fresh: Api) -> None:
    answer = fresh.write({"id": "a", "tenant": "t" * 32_767}, {"id": "b"})
    assert answer.status == 207
    assert [i["statusCode"] for i in answer.json["value"]] == [400, 201]


def test_az_23_keys(service: Api) -> None:
    path = "/indexes('hotels')"
    assert service.call("GET", path, key="wrong").status == 403
    assert service.call("GET", path, key="wrong").body == b""
    assert service.call("GET", path, key=service.query_key).status == 403
    search = f"{path}/docs/search.post.search"
    assert service.call("POST", search, {}, key=service.query_key).status == 200
    write = f"{path}/docs/search.index"
    assert service.call("POST", write, {"value": []}, key=service.query_key).status == 403


def test_az_25_api_version(service: Api) -> None:
    assert service.call("GET", "/indexes", version=None).status == 400
    assert service.call("GET", "/indexes", version="2020-01-01").status == 400


STRINGS = "Invalid lambda expression. Found a test for equality or inequality where the opposite"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "This is not a valid filter.",
            "Invalid expression: Syntax error at position 7 in 'This is not a valid filter.'.\r\n"
            "Parameter name: $filter",
            id="az_26",
        ),
        pytest.param(
            "tenant eq 'United Kingdom' {aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
            "Syntax error at position 61 in",
            id="az_26_braces_are_one_token",
        ),
        pytest.param(
            "not n gt 5",
            "A unary operator with an incompatible type was detected. "
            "Found operand type 'Edm.Int32' for operator kind 'Not'.",
            id="az_27",
        ),
        pytest.param(
            "url eq 'a'",
            "Could not find a property named 'url' on type 'search.document'.",
            id="az_28",
        ),
        pytest.param("hidden eq 'a'", "not a filterable field", id="az_29"),
        pytest.param("n gt null", "incompatible types", id="az_30_null"),
        pytest.param("n eq NaN", "incompatible types", id="az_30_nan"),
        pytest.param("tenant eq 5", "'Edm.String' and 'Edm.Int32'", id="az_30_types"),
        pytest.param("5 eq tenant", "'Edm.Int32' and 'Edm.String'", id="az_30_flipped"),
        pytest.param("tags eq 'a'", "incompatible types", id="az_30_collection"),
        pytest.param("tags/any(t: t ne 'a')", STRINGS, id="az_31_ne"),
        pytest.param("tags/all(t: t eq 'a')", STRINGS, id="az_31_all_eq"),
        pytest.param("tags/any(t: not (t eq 'a'))", STRINGS, id="az_31_not_eq"),
        pytest.param(
            "tags/any(t: t eq 'a' and t eq 'b')",
            "Invalid lambda expression. Complex Boolean expressions",
            id="az_31_and",
        ),
        pytest.param(
            "tags/any(t: t gt 'a')",
            "Invalid lambda expression. Found a comparison operator (one of",
            id="az_31_range",
        ),
        pytest.param("tags/any(t: tenant eq 'a')", "not bound to the range variable", id="free"),
        pytest.param("tenant/any(t: t eq 'a')", "needs a collection", id="no_collection"),
        pytest.param("tenant in ('a')", "Syntax error at position 9", id="az_36_in"),
        pytest.param("tenant EQ 'a'", "Syntax error at position 9", id="az_36_upper"),
        pytest.param('tenant eq "a"', "Syntax error", id="az_36_double_quotes"),
        pytest.param("(tenant eq 'a'", "Syntax error at position 14", id="az_36_unclosed"),
        pytest.param("tenant eq 'a", "Syntax error", id="unclosed_string"),
        pytest.param("tenant", "Boolean expression was expected", id="no_boolean"),
        pytest.param("n eq n", "the other a constant", id="two_fields"),
        pytest.param("", "Syntax error", id="blank"),
        pytest.param("(" * 5000, "nested too deeply", id="deep"),
    ],
)
def test_az_26_to_31_and_36_wrong_filters(service: Api, text: str, message: str) -> None:
    answer = service.filter(text or " ")
    assert answer.status == 400, answer.body
    assert message in answer.message


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        pytest.param("tags/all(t: t ne 'wifi' and not (t eq 'a'))", "24", id="az_32_all"),
        pytest.param("tags/any()", "123", id="az_32_any"),
        pytest.param("not tags/any()", "4", id="az_32_not_any"),
        pytest.param("tags/any(t: t eq 'a' or t eq 'wifi')", "13", id="az_32_or"),
        pytest.param("tags/all(t: not search.in(t,'a'))", "124", id="az_32_not_in"),
        pytest.param("tenant eq 'O''Neil'", "1", id="az_33_quote"),
        pytest.param("tenant eq 'größe'", "3", id="az_33_unicode"),
        pytest.param("tenant eq 'Größe'", "", id="az_33_case"),
        pytest.param("tenant eq 'o''neil'", "2", id="az_33_lower"),
        pytest.param(
            "tags/any(t: search.in(t,'Sea View motel|Budget hotel','|'))", "12", id="az_34_bar"
        ),
        pytest.param("tags/any(t: search.in(t,'Sea View motel'))", "", id="az_34_blank_splits"),
        pytest.param("search.in(tenant,'x,O''Neil größe')", "13", id="az_34_default"),
        pytest.param("tenant ne 'größe'", "124", id="az_35_ne_null"),
        pytest.param("tenant eq null", "4", id="az_35_eq_null"),
        pytest.param("null eq tenant", "4", id="az_35_null_first"),
        pytest.param("tenant ne null", "123", id="az_35_ne_null_constant"),
        pytest.param("5 lt n", "3", id="az_35_flipped"),
        pytest.param("n le 5", "12", id="az_35_range_is_false_on_null"),
        pytest.param("not (n le 5)", "34", id="not_range"),
        pytest.param("n eq 3.0", "1", id="numbers_mix"),
        pytest.param("x gt 1", "2", id="double"),
        pytest.param("x lt INF and x gt -INF", "12", id="infinities"),
        pytest.param("x eq NaN", "", id="nan_equals_nothing"),
        pytest.param("open", "1", id="boolean_alone"),
        pytest.param("not open", "234", id="not_boolean"),
        pytest.param("open eq false", "2", id="boolean_false"),
        pytest.param("at ge 2020-12-31T23:00:00Z", "2", id="date"),
        pytest.param("n eq 3 or n eq 5 and open", "1", id="and_binds_first"),
        pytest.param("(n eq 3 or n eq 5) and not open", "2", id="parentheses"),
        pytest.param("false", "", id="constant"),
        pytest.param("true or n eq 3", "1234", id="true"),
    ],
)
def test_az_32_to_35_right_filters(service: Api, text: str, ids: str) -> None:
    assert "".join(service.filter(text).ids) == ids


def test_az_28_unknown_select(service: Api) -> None:
    answer = service.search(select="id,url")
    assert answer.status == 400
    assert "Could not find a property named 'url' on type 'search.document'." in answer.message


def test_az_37_39_pages(fresh: Api) -> None:
    for start_at in (0, 1000):
        fresh.write(*({"id": str(i)} for i in range(start_at, start_at + 1000)))
    assert fresh.search(top=0).ids == []
    assert len(fresh.search(top=1).ids) == 1
    whole = fresh.search(top=1000)
    assert len(whole.ids) == 1000
    assert "@search.nextPageParameters" not in whole.json
    first = fresh.search(search="*")
    following = first.json["@search.nextPageParameters"]
    assert (len(first.ids), following) == (50, {"search": "*", "skip": 50})
    assert fresh.search(**following).ids == [str(i) for i in range(50, 100)]
    large = fresh.search(top=2500)
    assert len(large.ids) == 1000
    assert large.json["@search.nextPageParameters"] == {"top": 1500, "skip": 1000}


def test_az_38_skip(service: Api) -> None:
    assert service.search(skip=100_001).status == 400
    assert service.search(skip=-1).status == 400
    assert service.search(top=-1).status == 400


@pytest.mark.parametrize("text", ["*", "", None])
def test_az_40_everything_scores_one(service: Api, text: str | None) -> None:
    hits = service.search(search=text).json["value"]
    assert [hit["@search.score"] for hit in hits] == [1.0] * len(DOCUMENTS)


def test_az_42_search_mode_negation_and_prefix(service: Api) -> None:
    body = {"searchFields": "content"}
    assert sorted(service.search(search="wifi pool", **body).ids) == ["1", "2", "3"]
    assert service.search(search="wifi pool", searchMode="all", **body).ids == ["1"]
    assert sorted(service.search(search="wifi -luxury", **body).ids) == ["1", "2", "3", "4"]
    assert service.search(search="wifi -luxury", searchMode="all", **body).ids == ["1"]
    assert service.search(search='"quiet pool"', **body).ids == ["3"]
    prefix = service.search(search="lux*", **body).json["value"]
    assert [(hit["id"], hit["@search.score"]) for hit in prefix] == [("2", 1.0)]
    assert service.search(search=r"lux\*", **body).ids == []


def test_az_44_too_many_clauses(service: Api) -> None:
    answer = service.search(search=" ".join(["word"] * 3001), searchFields="content")
    assert (answer.status, answer.json["error"]["code"]) == (400, "ClauseLimitExceeded")


def vector(*values: float, k: int = 10, **more: object) -> dict[str, object]:
    return {"kind": "vector", "vector": list(values), "k": k, "fields": "vec", **more}


def test_az_45_cosine(service: Api) -> None:
    hits = service.search(vectorQueries=[vector(2, 0)]).json["value"]
    scores = [(hit["id"], hit["@search.score"]) for hit in hits]
    assert scores == [("1", 1.0), ("2", 0.5), ("3", 0.33333334)]


def test_az_46_47_fusion_over_the_wire(service: Api) -> None:
    queries = [vector(2, 0, weight=2), vector(3, 0.0, weight=0.5)]
    hits = service.search(vectorQueries=queries).json["value"]
    assert [hit["@search.score"] for hit in hits[:2]] == [0.0416666679084301, 0.04098360240459442]


def test_az_48_query_vector_of_wrong_length(service: Api) -> None:
    assert service.search(vectorQueries=[vector(1, 0, 0)]).status == 400


def test_az_49_filter_modes(fresh: Api) -> None:
    fresh.write(*({"id": str(i), "n": i % 2, "vec": [100 - i, i]} for i in range(40)))
    body = {"filter": "n eq 1", "vectorQueries": [vector(1, 0, k=10)], "top": 10}
    before = fresh.search(**body, vectorFilterMode="preFilter").ids
    assert before == [str(i) for i in range(1, 20, 2)]
    after = fresh.search(**body, vectorFilterMode="postFilter").ids
    assert len(after) <= 10
    strict = fresh.search(**body, vectorFilterMode="strictPostFilter").ids
    assert strict == ["1", "3", "5", "7", "9"]


@pytest.mark.parametrize(
    "body",
    [
        {"queryType": "semantic"},
        {"queryType": "full", "search": "/.*/.*/"},
        {"hybridSearch": {"maxTextRecallSize": 3}},
        {"vectorQueries": [{"kind": "text", "text": "a", "fields": "vec"}]},
        {"vectorQueries": [{**vector(1, 0), "filterOverride": "true"}]},
        {"orderby": "n"},
        {"filter": "search.ismatch('a')"},
    ],
)
def test_az_50_what_is_lacking_says_so(service: Api, body: dict[str, object]) -> None:
    answer = service.search(**body)
    assert answer.status == 501
    assert "stand-in does not implement" in answer.message


def test_az_50_dot_product_and_unknown_analyzers(service: Api) -> None:
    algorithm = {"name": "h", "kind": "hnsw", "hnswParameters": {"metric": "dotProduct"}}
    body = definition("dots") | {"vectorSearch": VECTOR_SEARCH | {"algorithms": [algorithm]}}
    assert service.call("POST", "/indexes", body).status == 501
    fields = [FIELDS[0], {"name": "c", "type": "Edm.String", "analyzer": "en.microsoft"}]
    assert service.call("POST", "/indexes", {"name": "ms", "fields": fields}).status == 501


def test_az_51_unknown_parameter(service: Api) -> None:
    answer = service.search(facet="tenant")
    assert answer.status == 400
    assert "is not a valid parameter for the operation 'search'." in answer.message


def test_az_54_63_headers(service: Api) -> None:
    for answer in (service.search(), service.call("GET", "/indexes", key="wrong")):
        assert answer.headers["x-retrieverbench-fidelity"] == "stand-in"
        assert answer.headers["elapsed-time"].isdigit()
    asked = service.call("GET", "/indexes", headers={"x-ms-client-request-id": "abc"})
    assert asked.headers["request-id"] == "abc"


def test_az_55_both_styles_of_address(fresh: Api) -> None:
    fresh.call("POST", f"/indexes/{fresh.index}/docs/index", {"value": [{"id": "a=b-_"}]})
    quoted = fresh.call("GET", f"/indexes('{fresh.index}')/docs('a%3Db-_')?$select=id,tags")
    plain = fresh.call("GET", f"/indexes/{fresh.index}/docs/a%3Db-_?$select=id,tags")
    assert quoted.json == plain.json == {"id": "a=b-_", "tags": []}


def test_az_56_a_filter_does_not_change_scores(service: Api) -> None:
    def scores(**body: object) -> dict[str, float]:
        hits = service.search(search="wifi pool", **body).json["value"]
        return {hit["id"]: hit["@search.score"] for hit in hits}

    every = scores()
    filtered = scores(filter="n eq 3")
    assert filtered == {"1": every["1"]}


def test_az_57_58_facets_count_the_matches(service: Api) -> None:
    answer = service.search(search="pool", facets=["tenant,count:0", "tags"], count=True).json
    assert list(answer)[:3] == ["@odata.count", "@search.facets", "value"]
    assert answer["@search.facets"]["tenant"] == [
        {"count": 1, "value": "O'Neil"},
        {"count": 1, "value": "größe"},
    ]
    narrowed = service.search(search="pool", facets=["tenant"], filter="n eq 7", count=True).json
    assert narrowed["@odata.count"] == 1
    assert narrowed["@search.facets"]["tenant"] == [{"count": 1, "value": "größe"}]


def test_az_59_count_of_vector_and_hybrid(service: Api) -> None:
    only = service.search(vectorQueries=[vector(1, 0, k=2)], count=True).json
    assert only["@odata.count"] == 2
    both = service.search(search="luxury", vectorQueries=[vector(-1, 0, k=1)], count=True).json
    assert both["@odata.count"] == 2


def test_az_60_lookup_takes_no_filter(service: Api) -> None:
    answer = service.call("GET", "/indexes('hotels')/docs('1')")
    assert answer.status == 200
    assert answer.json["tenant"] == "O'Neil"


def test_az_61_a_new_owner(fresh: Api) -> None:
    fresh.write({"id": "a", "tenant": "old"})
    fresh.write({"@search.action": "merge", "id": "a", "tenant": "new"})
    assert fresh.filter("tenant eq 'old'").ids == []
    assert fresh.filter("tenant eq 'new'").ids == ["a"]
    assert fresh.count() == 1


def test_unknown_routes_and_bodies_are_answered(service: Api) -> None:
    assert service.call("POST", "/indexers", {}).status == 501
    assert service.call("GET", "/indexes('hotels')/docs").status == 501
    bad = service.call("POST", "/indexes('hotels')/docs/search.post.search", b"{")
    assert (bad.status, "not valid JSON" in bad.message) == (400, True)
    assert service.call("GET", "/indexes", headers={"Authorization": "Bearer x"}).status == 200
