"""Rows AZ-10 to AZ-25, 53, 55, 60, 61: documents, rights, api-version."""

from __future__ import annotations

import pytest

from azure_support import DOCUMENTS, Api


def statuses(items: list[dict[str, object]]) -> list[tuple[object, object]]:
    return [(item["statusCode"], item["status"]) for item in items]


def test_az_10_count_is_text_with_a_byte_order_mark(api: Api) -> None:
    answer = api.call("GET", api.path("/docs/$count"))
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.body.startswith("\ufeff".encode())
    api.believed(int(answer.body.decode("utf-8-sig")) >= len(DOCUMENTS), str(answer.body))


def test_az_11_missing_document_is_silent(api: Api) -> None:
    answer = api.call("GET", api.path("/docs('missing')"))
    assert (answer.status, answer.body) == (404, b"")
    assert "content-type" not in answer.headers


def test_az_12_upload_new_and_again(api: Api) -> None:
    document = {"id": api.id("a"), "row": api.row}
    for expected in (201, 200):
        answer = api.write(document)
        assert answer.status == 200
        assert statuses(answer.json["value"]) == [(expected, True)]
        api.wait(lambda: api.visible() == 1)


def test_az_13_merge_missing_and_upload(api: Api) -> None:
    merge = {"@search.action": "merge", "id": api.id("none"), "n": 1}
    answer = api.write(merge, {"id": api.id("b"), "row": api.row})
    assert answer.status == 207
    assert statuses(answer.json["value"]) == [(404, False), (201, True)]
    assert answer.json["value"][0]["errorMessage"] == "Document not found."


def test_az_14_delete_missing(api: Api) -> None:
    answer = api.write({"@search.action": "delete", "id": api.id("never")})
    assert answer.status == 200
    assert statuses(answer.json["value"]) == [(200, True)]


def test_az_15_action_without_key(api: Api) -> None:
    answer = api.write({"row": api.row, "n": 1})
    assert answer.status == 400
    assert "actions : 0: Document key cannot be missing or empty.\r\n" in answer.message


@pytest.mark.parametrize("key", ["a b", ".x", "_x", "x" * 1025], ids=["blank", "dot", "_", "long"])
def test_az_16_illegal_keys(api: Api, key: str) -> None:
    answer = api.write({"id": api.id("good"), "row": api.row}, {"id": key, "row": api.row})
    assert answer.status == 400
    if key == "a b":
        assert "Invalid document key: 'a b'. Keys can only contain letters" in answer.message
    api.believed("Invalid document key" in answer.message, answer.message)
    assert api.visible() == 0


def test_az_17_unknown_field(api: Api) -> None:
    answer = api.write({"id": api.id("a"), "row": api.row, "what": 1})
    assert answer.status == 400
    expected = "The property 'what' does not exist on type 'search.documentFields'"
    api.believed(expected in answer.message, answer.message)
    assert api.visible() == 0


def test_az_18_wrong_vector_length(api: Api) -> None:
    answer = api.write({"id": api.id("a"), "row": api.row, "vec": [1, 2, 3]})
    assert (answer.status, answer.json["error"]["code"]) == (400, "OperationNotAllowed")
    assert (
        "actions : 0: There's a mismatch in vector dimensions. The vector field 'vec', with "
        "dimension of '2', expects a length of '2'. However, the provided vector has a length "
        "of '3'."
    ) in answer.message
    assert api.visible() == 0


def test_az_19_nan_is_no_json(api: Api) -> None:
    answer = api.write({"id": api.id("a"), "row": api.row, "vec": [float("nan"), 0]})
    api.believed(answer.status == 400, str(answer.status))
    assert answer.status >= 400


def test_az_20_no_action(api: Api) -> None:
    answer = api.write()
    assert (answer.status, answer.json["error"]["code"]) == (400, "MissingRequiredParameter")
    assert "No indexing actions found in the request. Please include between 1 and" in (
        answer.message
    )


def test_az_21_too_many_actions(api: Api) -> None:
    many = api.write(*({"@search.action": "delete", "id": str(i)} for i in range(1001)))
    api.believed(many.status == 400, str(many.status))
    api.believed("too many indexing actions" in many.body.decode(), str(many.status))


def test_az_22_body_too_large(api: Api) -> None:
    large = api.write({"id": api.id("a"), "row": api.row, "content": "x" * (16 * 1024 * 1024)})
    assert large.status == 413
    api.believed(large.body == b"", str(large.body[:80]))
    assert api.visible() == 0


def test_az_23_wrong_and_insufficient_keys(api: Api) -> None:
    wrong = api.call("GET", api.path(), credential={"api-key": "wrong"})
    assert (wrong.status, wrong.body) == (403, b"")
    if "query key" not in api.others:
        pytest.skip("no query key; set AZURE_SEARCH_QUERY_KEY to one of the service's")
    query_key = api.others["query key"]
    assert api.call("GET", api.path(), credential=query_key).status == 403
    write = api.call("POST", api.path("/docs/search.index"), {"value": []}, credential=query_key)
    assert write.status == 403
    search = api.path("/docs/search.post.search")
    assert api.call("POST", search, {}, credential=query_key).status == 200


def test_az_24_token_without_the_role(api: Api) -> None:
    if "reader token" not in api.others:
        pytest.skip(
            "no token with the role Search Index Data Reader alone; set AZURE_SEARCH_READER_TOKEN"
        )
    token = api.others["reader token"]
    for method, rest, body in (
        ("GET", "", None),
        ("GET", "/search.stats", None),
        ("POST", "/docs/search.index", {"value": [{"id": api.id("a")}]}),
    ):
        answer = api.call(method, api.path(rest), body, credential=token)
        assert (answer.status, answer.message) == (403, "Authorization failed."), rest
    search = api.path("/docs/search.post.search")
    assert api.call("POST", search, {}, credential=token).status == 200
    unknown = {"Authorization": "Bearer unknown"}
    assert api.call("POST", search, {}, credential=unknown).status == 401


def test_az_25_api_version(api: Api) -> None:
    for version in (None, "2020-01-01"):
        answer = api.call("GET", "/indexes", version=version)
        api.believed(answer.status == 400, f"{version}: {answer.status}")


def test_az_53_visibility(api: Api) -> None:
    """The stand-in's own lag is tested with a clock of the test's; here it is measured."""
    document = {"id": api.id("a"), "row": api.row}
    assert statuses(api.write(document).json["value"]) == [(201, True)]
    api.record.lags["upload"] = api.wait(lambda: api.visible() == 1)
    delete = {"@search.action": "delete", "id": api.id("a")}
    assert statuses(api.write(delete).json["value"]) == [(200, True)]
    api.record.lags["delete"] = api.wait(lambda: api.visible() == 0)


def test_az_55_both_styles_of_address(api: Api) -> None:
    key = f"{api.id('a')}=b-_"
    body = {"value": [{"id": key, "row": api.row}]}
    assert api.call("POST", f"/indexes/{api.index}/docs/index", body).status == 200
    api.wait(lambda: api.visible() == 1)
    quoted_key = key.replace("=", "%3D")
    quoted = api.call("GET", api.path(f"/docs('{quoted_key}')?$select=id,tags"))
    plain = api.call("GET", f"/indexes/{api.index}/docs/{quoted_key}?$select=id,tags")
    assert quoted.json["id"] == plain.json["id"] == key
    assert quoted.json["tags"] == plain.json["tags"] == []


def test_az_60_lookup_takes_no_filter(api: Api) -> None:
    api.load({"id": "a", "tenant": "somebody"})
    answer = api.call("GET", api.path(f"/docs('{api.id('a')}')?$filter=tenant eq 'else'"))
    plain = api.call("GET", api.path(f"/docs('{api.id('a')}')"))
    assert plain.json["tenant"] == "somebody"
    api.believed(answer.status == 200, str(answer.status))


def test_az_61_a_new_owner(api: Api) -> None:
    api.load({"id": "a", "tenant": "old"})
    merge = {"@search.action": "merge", "id": api.id("a"), "tenant": "new"}
    assert api.write(merge).status == 200
    api.record.lags["move"] = api.wait(lambda: api.filter("tenant eq 'new'") == ["a"])
    assert api.filter("tenant eq 'old'") == []
