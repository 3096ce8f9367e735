"""Rules of the stand-in beside the conformance table, without a network."""

from __future__ import annotations

import pytest

from azure_support import FIELDS, definition
from retrieverbench.engines.azure_search.access import Credentials
from stand_in_support import (
    QUERY_KEY,
    READER_TOKEN,
    TOKEN,
    InProcess,
    in_process,
    message,
    parsed,
)


@pytest.fixture
def stand_in() -> InProcess:
    return in_process()


def test_put_cannot_change_a_field(stand_in: InProcess) -> None:
    changed = definition("tt") | {"fields": [*FIELDS[:-1], {**FIELDS[-1], "dimensions": 3}]}
    assert stand_in.call("PUT", "/indexes('tt')", changed).status == 400


def test_merge_replaces_fields_and_null_clears(stand_in: InProcess) -> None:
    stand_in.write({"id": "a", "tags": ["x", "y"], "n": 1, "tenant": "t"})
    stand_in.write({"@search.action": "mergeOrUpload", "id": "a", "tags": ["z"], "n": None})
    found = parsed(stand_in.call("GET", "/indexes('tt')/docs('a')"))
    assert (found["tags"], found["n"], found["tenant"]) == (["z"], None, "t")


@pytest.mark.parametrize("values", [{"n": "1"}, {"n": True}, {"tags": "one"}, {"at": "today"}])
def test_values_of_another_type_fail_the_whole_request(
    stand_in: InProcess, values: dict[str, object]
) -> None:
    reply = stand_in.write({"id": "good"}, {"id": "a", **values})
    assert (reply.status, "Cannot convert" in message(reply)) == (400, True)
    assert stand_in.ids() == []


def test_an_immense_term_fails_its_item_alone(stand_in: InProcess) -> None:
    reply = stand_in.write({"id": "a", "tenant": "t" * 32_767}, {"id": "b"})
    assert reply.status == 207
    assert [item["statusCode"] for item in parsed(reply)["value"]] == [400, 201]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" ", "Syntax error"),
        ("tenant", "Boolean expression was expected"),
        ("n eq n", "the other a constant"),
        ("tenant/any(t: t eq 'a')", "needs a collection"),
        ("(" * 5000, "nested too deeply"),
    ],
)
def test_filters_that_are_refused(stand_in: InProcess, text: str, expected: str) -> None:
    reply = stand_in.search(filter=text)
    assert (reply.status, expected in message(reply)) == (400, True)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("/.*/.*/", 8),
        ('"open', 6),
        ("wifi AND", 8),
        ("(wifi", 5),
        ("wifi)", 4),
        ("-wifi", 0),
        ("title: ", 7),
        ("a ]", 3),
        ("(" * 500, 101),
    ],
)
def test_what_the_full_syntax_cannot_parse(stand_in: InProcess, text: str, column: int) -> None:
    reply = stand_in.search(search=text, queryType="full")
    assert reply.status == 400
    assert f"line 1, column {column}." in message(reply)


@pytest.mark.parametrize(
    "text",
    [
        "wifi pool",
        "+wifi -pool",
        "wifi AND (pool OR NOT luxury)",
        'tags:"a b"~2^3',
        "w?fi* lux~1",
        "/w[i]fi/",
        "n:[1 TO 3]",
        r"a\:b \(c",
        "ANDROID",
    ],
)
def test_what_it_can_parse_is_lacking(stand_in: InProcess, text: str) -> None:
    assert stand_in.search(search=text, queryType="full").status == 501


def test_analyzers_that_are_lacking(stand_in: InProcess) -> None:
    fields = [FIELDS[0], {"name": "c", "type": "Edm.String", "analyzer": "en.microsoft"}]
    assert stand_in.call("POST", "/indexes", {"name": "ms", "fields": fields}).status == 501


def test_unknown_routes_and_bodies_are_answered(stand_in: InProcess) -> None:
    assert stand_in.call("POST", "/indexers", {}).status == 501
    assert stand_in.call("GET", "/indexes('tt')/docs").status == 501
    bad = stand_in.call("POST", "/indexes('tt')/docs/search", b"{")
    assert (bad.status, "not valid JSON" in message(bad)) == (400, True)


def status(stand_in: InProcess, method: str, path: str, **headers: str) -> int:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return stand_in.call(method, path, {"value": [{"id": "a"}]}, given).status


@pytest.mark.parametrize(
    ("headers", "read", "define", "write"),
    [
        ({"authorization": f"Bearer {TOKEN}"}, 200, 200, 200),
        ({"authorization": f"bearer {TOKEN}"}, 200, 200, 200),
        ({"authorization": f"Bearer {READER_TOKEN}"}, 200, 403, 403),
        ({"authorization": "Bearer unknown"}, 401, 401, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401, 401, 401),
        ({"api_key": QUERY_KEY}, 200, 403, 403),
        ({"api_key": "wrong", "authorization": f"Bearer {TOKEN}"}, 403, 403, 403),
        ({}, 403, 403, 403),
    ],
)
def test_who_may_do_what(
    stand_in: InProcess, headers: dict[str, str], read: int, define: int, write: int
) -> None:
    assert status(stand_in, "GET", "/indexes('tt')/docs/$count", **headers) == read
    assert status(stand_in, "GET", "/indexes('tt')", **headers) == define
    assert status(stand_in, "POST", "/indexes('tt')/docs/index", **headers) == write


def test_what_opens_a_service_is_not_shown() -> None:
    made = Credentials("admin-0815", "query-0815", {"token-0815": frozenset()})
    assert "0815" not in repr(made)
