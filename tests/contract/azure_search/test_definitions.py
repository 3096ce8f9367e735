"""Rows AZ-01 to AZ-09: index definitions and statistics."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from azure_support import DOCUMENTS, FIELDS, Api, definition


@pytest.fixture
def name(api: Api) -> Iterator[str]:
    """The name of an index that the row may make; it is gone afterwards."""
    name = f"{api.index}-{api.row}"
    yield name
    api.call("DELETE", f"/indexes('{name}')")


def test_az_01_create_echoes_the_definition(api: Api, name: str) -> None:
    created = api.call("POST", "/indexes", definition(name))
    assert created.status == 201
    assert created.headers["etag"].startswith('W/"0x8D')
    assert name in created.headers["location"]
    assert created.json["@odata.etag"].startswith('"0x8D')
    assert created.json["name"] == name
    assert [field["name"] for field in created.json["fields"]] == [f["name"] for f in FIELDS]


def test_az_02_create_twice_conflicts(api: Api) -> None:
    answer = api.call("POST", "/indexes", definition(api.index))
    assert answer.status == 409
    error = answer.json["error"]
    api.believed(error["code"] == "ResourceNameAlreadyInUse", str(error))
    api.believed("CannotCreateExistingIndex" in str(error.get("details")), str(error))


def test_az_03_put_creates_then_updates(api: Api, name: str) -> None:
    first = api.call("PUT", f"/indexes('{name}')", definition(name))
    second = api.call("PUT", f"/indexes('{name}')", definition(name))
    assert (first.status, second.status) == (201, 200)
    assert first.headers["etag"] != second.headers["etag"]


def test_az_04_stale_etag(api: Api) -> None:
    answer = api.call("DELETE", api.path(), headers={"If-Match": '"0x8D0"'})
    assert (answer.status, answer.json["error"]["code"]) == (412, "")
    assert answer.message == (
        "The precondition given in one of the request headers evaluated to false. "
        "No change was made to the resource from this request."
    )


def test_az_05_delete_existing_and_missing(api: Api, name: str) -> None:
    assert api.call("POST", "/indexes", definition(name)).status == 201
    assert api.call("DELETE", f"/indexes('{name}')").status == 204
    assert api.call("DELETE", f"/indexes('{name}')").status == 404


def test_az_06_missing_index(api: Api) -> None:
    missing = f"/indexes('{api.index}-none')"
    got = api.call("GET", missing)
    assert got.status == 404
    found = api.call("POST", f"{missing}/docs/search.post.search", {})
    assert found.status == 404
    assert f"The index '{api.index}-none' for service" in found.message
    api.believed(got.json["error"]["message"] == found.message, str(got.body))


def test_az_07_vector_field_needs_dimensions(api: Api) -> None:
    field = {"name": "v", "type": "Collection(Edm.Single)"}
    body = {"name": f"{api.index}-bad", "fields": [FIELDS[0], field]}
    answer = api.call("POST", "/indexes", body)
    assert (answer.status, answer.json["error"]["code"]) == (400, "InvalidRequestParameter")
    assert "definition : The vector field 'v' must have the property 'dimensions' set." in (
        answer.message
    )
    assert answer.json["error"]["details"][0]["code"] == "InvalidField"


def test_az_08_attributes_left_out_are_true(api: Api) -> None:
    fields = api.call("GET", api.path()).json["fields"]
    content = next(field for field in fields if field["name"] == "content")
    for flag in ("filterable", "sortable", "facetable", "retrievable", "searchable"):
        assert content[flag] is True, flag


def test_az_09_statistics(api: Api) -> None:
    statistics = api.call("GET", api.path("/search.stats")).json
    assert {"documentCount", "storageSize", "vectorIndexSize"} <= statistics.keys()
    counters = api.call("GET", "/servicestats").json["counters"]
    assert counters["indexesCount"]["usage"] >= 1
    # The service counts with a delay.
    api.believed(statistics["documentCount"] >= len(DOCUMENTS), str(statistics))
