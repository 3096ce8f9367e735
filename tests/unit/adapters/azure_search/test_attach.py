"""The user's own index: searched and read, never written; what does not fit is said."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from azure_adapter_support import (
    ACME,
    DIMENSION,
    GLOBEX,
    ask,
    chunks_of,
    opened,
    settings,
    stand_in,
    vector,
)
from azure_support import VERSION
from retrieverbench.adapter import NOBODY, Attached, Leg, Secret, Settings
from retrieverbench.engines.azure_search.replies import Call
from retrieverbench.engines.azure_search.service import Service
from retrieverbench.errors import AdapterError, InputError, Unsupported
from retrieverbench.model import MODES, Mode, TenantId

pytestmark = pytest.mark.anyio
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "Edm.String", "key": True},
    {"name": "uid", "type": "Edm.String", "searchable": False},
    {"name": "org", "type": "Edm.String", "searchable": False},
    {"name": "title", "type": "Edm.String", "facetable": False},
    {"name": "body", "type": "Collection(Edm.String)", "filterable": False},
    {"name": "year", "type": "Edm.Int32"},
    {"name": "open", "type": "Edm.Boolean", "filterable": False},
    {
        "name": "embedding",
        "type": "Collection(Edm.Single)",
        "dimensions": DIMENSION,
        "vectorSearchProfile": "p",
    },
]
VECTOR_SEARCH = {
    "algorithms": [{"name": "h", "kind": "hnsw"}],
    "profiles": [{"name": "p", "algorithm": "h"}],
}
MAPPED = Attached("users", "uid", "org", ("title", "body"), "embedding", {"year": "year"})


@asynccontextmanager
async def users_index() -> AsyncIterator[tuple[Settings, Service]]:
    """An index that somebody else made and filled: three documents of each of two tenants."""
    async with stand_in() as served:
        headers = {"api-key": served.service.credentials.admin_key}

        def call(path: str, body: object) -> int:
            content = json.dumps(body).encode()
            query = {"api-version": VERSION}
            return served.service.answer(Call("POST", path, query, headers, content)).status

        definition = {"name": "users", "fields": FIELDS, "vectorSearch": VECTOR_SEARCH}
        assert call("/indexes", definition) == 201
        documents = [
            {
                "id": f"{org}{i}",
                "uid": f"{org}, number {i}",
                "org": org,
                "title": f"refund {i}",
                "body": ["policy", f"of year {2020 + i}"],
                "year": 2020 + i,
                "embedding": list(vector(i)),
            }
            for org in ("acme", "globex")
            for i in range(3)
        ]
        documents.append({"id": "nobody", "title": "a document without an owner"})
        assert call("/indexes/users/docs/index", {"value": documents}) == 200
        yield settings(served.endpoint, place="", attached=MAPPED), served.service


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", ["eq", "search.in"])
async def test_each_tenant_finds_its_own_in_fields_of_the_users(mode: Mode, form: str) -> None:
    async with users_index() as (given, _):
        options = {"search": {"tenant_filter": form}}
        async with opened(replace(given, options=options)) as adapter:
            found = await adapter.search(ask(mode, k=10, want=frozenset({"text", "total"})))
            assert sorted(hit.uid for hit in found.hits) == [f"acme, number {i}" for i in range(3)]
            assert {hit.tenant for hit in found.hits} == {"acme"}
            texts = {hit.uid: hit.text for hit in found.hits}
            assert texts["acme, number 1"] == "refund 1\npolicy\nof year 2021"
            narrowed = await adapter.search(ask(mode, k=10, where={"year": 2021}))
            assert [hit.uid for hit in narrowed.hits] == ["acme, number 1"]


async def test_reads_by_id_and_no_writes() -> None:
    async with users_index() as (given, service):
        before = {name: index.definition.shown for name, index in service.indexes.items()}
        async with opened(given) as adapter:
            asked = ["globex, number 0", "acme, number 2", "acme|number"]
            assert [hit.uid for hit in await adapter.get(ACME, asked)] == ["acme, number 2"]
            await adapter.settle()
            for refused in (
                adapter.put([]),
                adapter.delete(ACME, ["acme, number 2"]),
                adapter.move("acme, number 2", ACME, GLOBEX),
            ):
                with pytest.raises(Unsupported, match="is not written to"):
                    await refused
            described = await adapter.describe()
        assert described.chunks == {"acme": 3, "globex": 3, NOBODY: 1}
        assert described.settings["tenant.filterable"] is True
        assert described.settings["vector.index"] == "hnsw"
        assert described.settings["credential"] == "admin key"
        assert {n: index.definition.shown for n, index in service.indexes.items()} == before
        assert service.indexes["users"].count() == 7


async def test_a_query_key_is_enough_and_what_it_may_not_read_is_told() -> None:
    async with users_index() as (given, service):
        key = Secret(service.credentials.query_key)
        async with opened(replace(given, secrets={"api_key": key})) as adapter:
            assert len((await adapter.search(ask("hybrid"))).hits) == 3
            described = await adapter.describe()
        assert described.settings["credential"] == "query key"
        assert described.settings["documents"] == 7
        assert [line.partition(":")[0] for line in described.unchecked] == [
            "index definition",
            "chunks per tenant",
            "service statistics",
        ]
        assert not any("admin key" in line for line in described.weaknesses)
        years = replace(given, attached=replace(MAPPED, tenant="year"), secrets={"api_key": key})
        async with opened(years) as adapter:  # what its type is can only be found out by asking
            for tenant, count in (("2021", 2), ("02021", 0), ("9999999999999999999", 0)):
                found = await adapter.search(ask("hybrid", TenantId(tenant)))
                assert len(found.hits) == count
        wrong = replace(given, attached=replace(MAPPED, id="year"), secrets={"api_key": key})
        async with opened(wrong) as adapter:
            with pytest.raises(AdapterError, match=r"a hit has year 202.*name a field of text"):
                await adapter.search(ask("dense"))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"tenant": "owner"}, "attach.tenant: the index has no field 'owner'"),
        ({"tenant": "open"}, "'open' is Edm.Boolean; only Edm.String, Edm.Int32 or Edm.Int64 is"),
        ({"id": "year"}, "'year' is Edm.Int32; only Edm.String names a chunk"),
        ({"tenant": "body"}, r"'body' is Collection\(Edm.String\).*; name a field .* one owner"),
        ({"metadata": {"open": "open"}}, "attach.metadata: 'open' is not filterable"),
        ({"text": ("org",)}, "attach.text: 'org' is not searchable text"),
        ({"text": ()}, "attach.text: missing"),
        ({"vector": ""}, "attach.vector: missing"),
        ({"vector": "title"}, "'title' is Edm.String, no field of vectors; known: embedding"),
        ({"id": "x eq 'a' or id"}, "is no name of a field"),
    ],
)
async def test_a_mapping_that_does_not_fit(changes: dict[str, Any], text: str) -> None:
    async with users_index() as (given, _):
        with pytest.raises(InputError, match=text):
            async with opened(replace(given, attached=replace(MAPPED, **changes))):
                pytest.fail("opened")


async def test_an_index_that_is_not_there_and_a_condition_without_a_field() -> None:
    async with users_index() as (given, service):
        with pytest.raises(InputError, match=r"attach.name: .*'gone' for service.*; known: "):
            async with opened(replace(given, attached=replace(MAPPED, name="gone"))):
                pytest.fail("opened")
        async with opened(given) as adapter:
            with pytest.raises(InputError, match="'colour' is mapped to no field"):
                await adapter.search(ask("dense", where={"colour": "red"}))
        assert list(service.indexes) == ["users"]


class Kept:
    """A recorder that keeps what it is shown."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, tuple[Leg, ...], object]] = []
        self.responses: list[tuple[str, Any]] = []

    def request(self, operation: str, legs: Any, body: object) -> None:
        self.requests.append((operation, tuple(legs), body))

    def response(self, operation: str, body: object) -> None:
        self.responses.append((operation, body))


async def test_a_recorder_sees_every_leg_with_its_condition_and_no_credential() -> None:
    recorder = Kept()
    async with users_index() as (given, _), opened(replace(given, recorder=recorder)) as adapter:
        recorder.requests.clear()
        recorder.responses.clear()
        await adapter.search(ask("hybrid"))
        ((operation, legs, body),) = recorder.requests
        ((_, answer),) = recorder.responses
        await adapter.get(ACME, ["globex, number 0"])
        last = recorder.requests[-1][1]
        key = given.secrets["api_key"].reveal()
        assert key not in repr(recorder.requests) + repr(recorder.responses)
    assert operation == "POST /indexes('users')/docs/search.post.search"
    condition = "org eq 'acme'"
    assert legs == (Leg("search", condition), Leg("vectorQueries[0].embedding", condition))
    assert isinstance(body, dict)
    assert body["filter"] == condition
    assert (answer["status"], len(answer["body"]["value"])) == (200, 3)
    assert answer["headers"]["x-retrieverbench-fidelity"] == "stand-in"
    assert "org eq 'acme'" in str(last[0].condition)


async def test_a_recorder_sees_writes_and_errors_and_own_indexes() -> None:
    recorder = Kept()
    async with stand_in() as served:
        given = settings(served.endpoint, layout="index", recorder=recorder)
        async with opened(given) as adapter:
            await adapter.put(chunks_of(ACME, 2))
            await adapter.search(ask("dense"))
            legs = recorder.requests[-1][1]
            assert legs[0].path == "vectorQueries[0].vector"
            condition = legs[0].condition
            assert isinstance(condition, dict)
            assert condition["filter"] is None
            assert condition["index"] in served.service.indexes
            await adapter.search(ask("dense", GLOBEX))
            assert recorder.responses[-1][1]["status"] == 404
        operations = [operation for operation, _, _ in recorder.requests]
        assert operations[1] == "POST /indexes"
        assert any(operation.endswith("/docs/search.index") for operation in operations)
