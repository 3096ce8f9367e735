"""What of a user's index is refused, and what is only said, without a node."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from apart_support import run_apart
from retrieverbench.adapter import Attached, Settings
from retrieverbench.errors import AdapterError, InputError, Refused, Rejected, Unsupported
from retrieverbench.model import MODES, Chunk, Query, TenantId
from retrieverbench.remote.lucene import Indices, TextIndex, attached_fields, bind, delete, move
from retrieverbench.remote.lucene.answers import read_hit
from retrieverbench.remote.lucene.requests import ID, Scope, by_id, conditions, words

MINE = Attached("docs", "pk", "org.id", ("body", "title"), "v", {"lang": "lang"})
FIELDS: dict[str, Any] = {
    "pk": {"type": "keyword"},
    "org": {"properties": {"id": {"type": "keyword", "ignore_above": 256}}},
    "body": {"type": "text"},
    "title": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
    "lang": {"type": "keyword"},
    "v": {
        "type": "dense_vector", "dims": 3, "similarity": "cosine", "index_options": {"type": "hnsw"}
    },
    "parts": {"type": "nested", "properties": {"org": {"type": "keyword"}}},
}  # fmt: skip
KNN = {"type": "knn_vector", "dimension": 3, "method": {"engine": "lucene", "name": "hnsw"}}


def settings(**changes: Any) -> Settings:
    usual: dict[str, Any] = {"modes": frozenset(MODES), "dimension": 3, "attached": MINE}
    return Settings("http://x", "", **{**usual, **changes})


def bound(
    fields: Any = None,
    index: Any = None,
    answer: Any = None,
    *,
    by_script: bool = False,
    behind: int = 1,
    other: Any = None,
    alias: Any = None,
    **changes: Any,
) -> Indices:
    """Bound to `behind` indices of these fields, and one of `other`.

    Every request is an assertion that it only reads.
    """
    given = settings(**changes)
    assert given.attached is not None
    shown = {"mappings": {"properties": fields or FIELDS}, "settings": {"index": index or {}}}

    async def send(method: str, path: str, *_: Any, **__: Any) -> Any:
        if path != "/docs":
            assert (method, path) in {("POST", "/docs/_search"), ("GET", "/_alias")}
            aliases: Any = {"dogs": {"aliases": {"doc": {}}}}
            return {"hits": {"total": {"value": 0}, "hits": []}} if method == "POST" else aliases
        assert method == "GET"
        if isinstance(answer, Exception):
            raise answer
        shown["aliases"] = {"docs": alias or {}}
        found = {f"docs-{number}": shown for number in range(behind)}
        more = {"mappings": {"properties": other}, "settings": shown["settings"]}
        return found | ({"docs-other": more} if other else {})

    text = TextIndex("english", 1.2, 0.75, attached=attached_fields(given.attached))
    indices = Indices("x", send, given.attached.name, "filter", text, {}, 1, attached=True)
    run_apart(_bind, indices, given, by_script)
    return indices


async def _bind(indices: Indices, given: Settings, by_script: bool) -> None:
    await bind(indices, given, by_script=by_script)


def test_an_index_that_fits_is_bound_without_a_word() -> None:
    indices = bound()
    assert (indices.weak, indices.unchecked) == ((), ())


@pytest.mark.parametrize(
    ("name", "field", "words"),
    [
        ("pk", None, "attach.id: the index has no field 'pk'"),
        ("pk", {"type": "text"}, "attach.id: 'pk' is text; map a keyword"),
        ("pk", {"type": "keyword", "normalizer": "n"}, "attach.id: 'pk' has a normalizer"),
        ("pk", {"type": "keyword", "doc_values": False}, "attach.id: 'pk' has no doc_values"),
        ("org", {"properties": {}}, "attach.tenant: the index has no field 'org.id'"),
        ("org", {"type": "nested", **FIELDS["org"]}, "'org.id' lies in the nested object 'org'"),
        ("org", {"type": "flattened"}, "'org.id' lies in 'org', which is flattened; map it"),
        (
            "org",
            {"properties": {"id": {"type": "alias", "path": "org.name"}}},
            "attach.tenant: 'org.id' is an alias of 'org.name'; name that",
        ),
        ("org", {"properties": {"id": {"type": "text"}}}, "attach.tenant: 'org.id': .*not keyword"),
        (
            "org",
            {"properties": {"id": {"type": "text", "fields": {"raw": {"type": "keyword"}}}}},
            "'org.id': .*is text.*; name org.id.raw",
        ),
        ("org", {"properties": {"id": {"type": "double"}}}, "'org.id': .*is double.*; map it as"),
        (
            "org",
            {"properties": {"id": {"type": "keyword", "normalizer": "lower"}}},
            "attach.tenant: 'org.id': .*normalizer 'lower'",
        ),
        (
            "org",
            {"properties": {"id": {"type": "keyword", "ignore_above": 100}}},
            "attach.tenant: 'org.id': .*above 100",
        ),
        (
            "org",
            {"properties": {"id": {"type": "keyword", "index": False}}},
            "attach.tenant: 'org.id' is not indexed",
        ),
        ("body", {"type": "keyword"}, "attach.text: 'body' is keyword, not text"),
        ("body", {"type": "text", "index": False}, "attach.text: 'body' is not indexed"),
        ("lang", {"type": "text"}, "attach.metadata.lang: 'lang' is text; map a keyword"),
        ("v", {"type": "dense_vector", "dims": 4}, "attach.vector: 'v' has 4 dimensions"),
        ("v", {"type": "dense_vector", "dims": 3, "index": False}, "'v' is not indexed"),
        ("v", {"type": "float"}, "attach.vector: 'v' is float, no field of vectors"),
        ("v", KNN, "attach.vector: 'v' is not indexed"),
    ],
)
def test_what_cannot_be_searched_is_named(name: str, field: Any, words: str) -> None:
    fields = copy.deepcopy(FIELDS)
    fields[name] = field
    if field is None:
        del fields[name]
    with pytest.raises(InputError, match=f"x: .*{words}") as refused:
        bound(fields)
    assert all("; " in fault for fault in refused.value.faults)  # what to do


def test_vectors_of_opensearch_are_filtered_inside_or_compared_one_by_one() -> None:
    knn = {"knn": "true"}
    bound(FIELDS | {"v": KNN}, knn)
    bound(FIELDS | {"v": KNN}, by_script=True)
    late = {**KNN, "method": {"engine": "nmslib", "name": "hnsw"}}
    with pytest.raises(InputError, match="nmslib, which filters after the search"):
        bound(FIELDS | {"v": late}, knn)


def test_what_makes_the_figures_worth_less_is_said() -> None:
    fields = copy.deepcopy(FIELDS)
    fields["pk"]["ignore_above"] = 20
    fields["v"]["similarity"] = "l2_norm"
    identity, vector = bound(fields).weak
    assert "'pk' ignores values above 20" in identity
    assert "ranks by l2_norm" in vector
    (weak,) = bound(FIELDS | {"v": {**KNN, "space_type": "l2"}}, {"knn": "true"}).weak
    assert "ranks by l2" in weak


@pytest.mark.parametrize("name", ["*", "a,b", "docs*", "_all", "a/b", "", "-a"])
def test_only_one_index_is_named(name: str) -> None:
    other = Attached(name, "pk", "org.id", ("body",), "v")
    with pytest.raises(InputError, match="no name of one index"):
        bound(attached=other)


def test_only_one_layout_can_be_attached() -> None:
    with pytest.raises(InputError, match="layout: 'index' cannot be attached"):
        bound(layout="index")


def test_an_index_that_is_not_there_and_one_that_may_not_be_described() -> None:
    with pytest.raises(
        InputError, match=r"attach.name: 'docs': .*no such index; did you mean 'doc'"
    ):
        bound(answer=Rejected("no such index"))
    indices = bound(answer=Refused("security_exception"))
    assert "view_index_metadata" in indices.unchecked[0]


def test_nothing_is_written() -> None:
    """Not a request goes out: `send` would fail on any but the one that binds."""
    indices, a = bound(), TenantId("a")
    for change in (
        lambda: indices.put([Chunk("1", a, "x")], 100),
        lambda: indices.settle(force_merge=True),
        lambda: delete(indices, a, ["a/1"]),
        lambda: move(indices, "a/1", a, a),
    ):
        with pytest.raises(Unsupported, match="'docs' is the user's own and is not written to"):
            run_apart(change)
    run_apart(indices.open)
    run_apart(indices.remove)


def test_requests_name_the_users_fields() -> None:
    text = TextIndex("english", 1.2, 0.75, attached=attached_fields(MINE))
    indices = Indices("x", None, "docs", "filter", text, {}, 1)  # type: ignore[arg-type]
    asked = Query("leave", TenantId("a"), 5, "lexical", where={"lang": "en"})
    scope = indices.scope(asked.tenant)
    own = {"term": {"org.id": "a"}}
    assert conditions(asked, scope, text) == [own, {"term": {"lang": "en"}}]
    assert words(asked, scope, text)["bool"]["must"][0]["multi_match"]["fields"] == [
        "body",
        "title",
    ]
    named = by_id(scope, ["1"], text)
    assert named["query"]["bool"]["filter"] == [own, {"terms": {"pk": ["1"]}}]
    assert named["docvalue_fields"] == ["pk", "org.id"]
    assert named["_source"] == ["body", "title"]
    by_key = attached_fields(Attached("docs", ID, "org.id", ("body",)))
    body = by_id(scope, ["1"], TextIndex("english", 1.2, 0.75, attached=by_key))
    assert body["query"]["bool"]["filter"] == [own, {"ids": {"values": ["1"]}}]
    assert body["docvalue_fields"] == ["org.id"]
    with pytest.raises(InputError, match="'other' is mapped to no field"):
        conditions(Query("x", TenantId("a"), 5, "lexical", where={"other": 1}), scope, text)


def test_a_text_is_found_through_objects_and_for_sub_fields() -> None:
    fields = attached_fields(Attached("docs", ID, "org.id", ("page.body", "title.english", "no")))
    assert fields is not None
    scope = Scope("docs", ())
    text = TextIndex("english", 1.2, 0.75, attached=fields)
    shown = by_id(scope, ["1"], text)["_source"]
    assert shown == ["page.body", "page", "title.english", "title", "no"]
    source = {"page": {"body": ["one", "two"]}, "title": "three"}
    raw = {"_id": "1", "_score": 0.0, "_source": source, "fields": {"org.id": ["a"]}}
    hit = read_hit(raw, fields, whole=True)
    assert (hit.uid, hit.tenant, hit.text) == ("1", "a", "one\ntwo\nthree")


def test_a_document_without_an_id_is_a_fault_and_one_without_an_owner_is_nobodys() -> None:
    fields = attached_fields(MINE)
    assert fields is not None
    assert read_hit({"_score": 1.0, "fields": {"pk": [7]}}, fields, whole=False).uid == "7"
    assert read_hit({"_score": 1.0, "fields": {"pk": [7]}}, fields, whole=False).tenant is None
    with pytest.raises(AdapterError, match="document 'x' has no value in its field 'pk'"):
        read_hit({"_id": "x", "_score": 1.0}, fields, whole=False)


def test_owners_that_a_mapping_makes_up_and_ids_of_several_indices_are_told() -> None:
    owner = {"properties": {"id": {"type": "keyword", "null_value": "acme"}}}
    (weak,) = bound(FIELDS | {"org": owner}).weak
    assert "null_value 'acme': who is called so finds documents without an owner" in weak
    by_id_of_document = replace(MINE, id=ID)
    assert not bound(attached=by_id_of_document).weak
    (weak,) = bound(attached=by_id_of_document, behind=2).weak
    assert "2 are behind 'docs': equal ids count as one chunk" in weak
    assert not bound(behind=2).weak


def test_an_alias_of_indices_whose_owners_are_of_two_types_is_refused() -> None:
    number = FIELDS | {"org": {"properties": {"id": {"type": "long"}}}}
    assert bound(number).owners is not None
    with pytest.raises(InputError, match="keyword and long in the indices behind 'docs'"):
        bound(number, other=FIELDS)


def test_an_alias_that_leaves_documents_out_is_told() -> None:
    (weak,) = bound(alias={"filter": {"term": {"lang": "de"}}}).weak
    assert "'docs' is an alias with a filter: " in weak
    assert not bound(alias={}).weak


def test_how_vectors_are_compared_is_nothing_to_who_asks_by_words_alone() -> None:
    vector = FIELDS | {"v": {**KNN, "space_type": "l2"}}
    lexical: Any = {"modes": frozenset({"lexical"}), "dimension": 0}
    assert not bound(vector, {"knn": "true"}, **lexical).weak
