"""Bodies: what keeps a request to one tenant, and what the servers could not take."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieverbench.errors import Rejected, TenantError
from retrieverbench.model import Chunk, Query, TenantId
from retrieverbench.remote.lucene import TextIndex, requests, tenant_scope, words
from retrieverbench.remote.lucene.requests import Scope

FLAT = TextIndex("english", 1.2, 0.75)
TENANT = TenantId("acme,globex")
CONDITION = {"term": {"tenant": "acme,globex"}}


def test_the_scope_of_each_layout() -> None:
    """A condition, or a name of its own; never neither. A tenant's own name is in no path."""
    assert tenant_scope("rb_x", "filter", TENANT) == Scope("rb_x", (CONDITION,))
    partition = tenant_scope("rb_x", "partition", TENANT)
    assert (partition.index, partition.conditions) == ("rb_x", (CONDITION,))
    assert partition.routing is not None
    assert "," not in partition.routing
    for isolation in ("index", "alias"):
        own = tenant_scope("rb_x", isolation, TENANT)
        assert own == Scope(f"rb_x.{partition.routing}", ())


@given(st.sets(st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True), min_size=2, max_size=5))
def test_no_two_tenants_share_a_name(tenants: set[str]) -> None:
    scopes = {tenant_scope("rb_x", "index", TenantId(name)).index for name in tenants}
    assert len(scopes) == len(tenants)


@pytest.mark.parametrize("tenant", [None, "", "a", {"value": "a", "case_insensitive": True}])
@pytest.mark.parametrize("isolation", ["filter", "partition", "index", "alias"])
def test_an_unchecked_tenant_is_refused(tenant: Any, isolation: Any) -> None:
    """Whatever is not a TenantId, and a TenantId that was made round its check."""
    forged = object.__new__(TenantId)
    object.__setattr__(forged, "value", tenant)
    unchecked: list[Any] = [tenant] if isinstance(tenant, str) and tenant else [tenant, forged]
    for value in unchecked:
        with pytest.raises(TenantError):
            tenant_scope("rb_x", isolation, value)


def test_a_question_is_a_match_and_never_a_query_language() -> None:
    scope = tenant_scope("rb_x", "filter", TENANT)
    for fields in ("flat", "summed", "best_fields"):
        text = TextIndex("english", 1.2, 0.75, fields, 0.3)
        body = words(Query("*:*", TENANT, 5, "lexical"), scope, text)["bool"]
        assert body["filter"] == [CONDITION]
        ((kind, asked),) = body["must"][0].items()
        assert kind == ("match" if fields == "flat" else "multi_match")
        assert "*:*" in (asked.get("query"), asked.get("text", {}).get("query"))


def test_a_chunk_is_stored_with_routing_and_without_a_vector_where_there_is_none() -> None:
    chunk = Chunk("1", TENANT, "text", title="title", metadata={"n": 1})
    scope = tenant_scope("rb_x", "partition", TENANT)
    action, document = requests.bulk_lines(chunk, scope, FLAT, vectors=False).splitlines()
    assert json.loads(action)["index"]["routing"] == scope.routing
    assert json.loads(document) == {
        "uid": chunk.uid, "tenant": "acme,globex", "text": "title\ntext", "metadata": ['["n", 1]'],
    }  # fmt: skip
    apart = TextIndex("english", 1.2, 0.75, "summed")
    _, document = requests.bulk_lines(chunk, scope, apart, vectors=False).splitlines()
    assert (json.loads(document)["title"], json.loads(document)["text"]) == ("title", "text")


def test_a_missing_vector_is_refused() -> None:
    with pytest.raises(Rejected, match="missing"):
        requests.bulk_lines(Chunk("1", TENANT, "x"), Scope("rb_x", ()), FLAT, vectors=True)


def test_long_ids_and_terms_are_their_sums() -> None:
    short, long, longer = "x" * 512, "x" * 513, "x" * 514
    assert requests.document_id(short) == short
    assert requests.document_id(long) != requests.document_id(longer)
    assert len(requests.document_id(longer)) < 100
    assert requests.term("y" * 8000) == "y" * 8000
    assert requests.term("y" * 8001) != requests.term("y" * 8002)


def test_many_names_stay_within_a_request_line() -> None:
    found = requests.names([f"i{n}" for n in range(85)])
    assert [len(part.split(",")) for part in found] == [40, 40, 5]
    assert ",".join(found).split(",") == [f"i{n}" for n in range(85)]


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8")))
def test_what_is_written_reads_back_exactly(name: str, text: str) -> None:
    """By another JSON parser, which finds one line for each object and no further clause."""
    tenant = object.__new__(TenantId)
    object.__setattr__(tenant, "value", name)
    scope = tenant_scope("rb_x", "partition", tenant)
    chunk = Chunk("1", tenant, text, metadata={"said": text})
    action, document, end = requests.bulk_lines(chunk, scope, FLAT, vectors=False).split(b"\n")
    assert not end
    assert json.loads(action)["index"].keys() == {"_index", "_id", "routing"}
    assert (json.loads(document)["tenant"], json.loads(document)["text"]) == (name, text)
    query = Query(text, tenant, 1, "lexical", where={"said": text})
    read = json.loads(requests.dump(words(query, scope, FLAT)))["bool"]
    assert read.keys() == {"must", "filter"}
    assert read["must"] == [{"match": {"text": {"query": text}}}]
    assert read["filter"][0] == {"term": {"tenant": name}}
    assert [json.loads(c["term"]["metadata"]) for c in read["filter"][1:]] == [["said", text]]
