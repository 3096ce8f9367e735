"""A description of a request that could not be right is refused before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from http_service_support import FIELDS, OPTIONS, described, settings
from retrieverbench.errors import InputError
from retrieverbench_adapters.http_api import HttpApi

pytestmark = pytest.mark.anyio
BODY = {"query": "{query}", "tenant": "{tenant}", "top_k": "{k}"}
CREDENTIAL = {"Authorization": "Bearer {credential}"}


def answered(**search: str) -> dict[str, Mapping[str, Any]]:
    """The options with parts of the answer's description replaced."""
    return {**OPTIONS, "search": {**OPTIONS.get("search", {}), **search}}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"options": described(body={**BODY, "filter": "tenant eq '{tenant}'"})}, "stand alone"),
        ({"options": described(body={**BODY, "x": ["{quary}"]})}, "did you mean 'query'"),
        ({"options": described(body={**BODY, "x": "{credential}"})}, "cannot stand here"),
        ({"options": described(headers={**CREDENTIAL, "X": "{query}"})}, "cannot stand here"),
        ({"options": described(headers={**CREDENTIAL, "X": "t-{tenant}"})}, "stand alone"),
        ({"options": described(path="/{vector}")}, "cannot stand here"),
        ({"options": described(path="/{query}/x")}, "another route"),
        ({"options": described(body={"query": "{query}", "tenant": "{tenant}"})}, "says {k}"),
        ({"options": described(body={"k": "{k}", "tenant": "{tenant}"})}, "says {query} or"),
        ({"options": described(method="GET")}, "a GET has none"),
        ({"options": described(method="FETCH")}, "connect.method"),
        ({"options": described(headers={})}, "none of them is sent"),
        ({"secrets": {}}, "no secret is named"),
        ({"secrets": {"acme": None}}, "write default or tenant:<its name>"),
        ({"attached": None}, r"only reads; describe the service in \[targets.attach\]"),
        ({"attached": replace(FIELDS, tenant="owner")}, "'owner' is no part of the request"),
        ({"attached": replace(FIELDS, tenant="path")}, "'path' is no part of the request"),
        ({"endpoint": "ftp://127.0.0.1"}, "no http or https address"),
        ({"endpoint": "http://:80"}, "names no host"),
        ({"endpoint": "http://127.0.0.1:x"}, "names no host, or no port"),
        ({"endpoint": "http://127.0.0.1:99999"}, "names no host, or no port"),
        ({"endpoint": "http://127.0.0.1:9/?a=b"}, r"belongs in connect\.path"),
        ({"options": described(path="search")}, "cannot follow an address; begin with /"),
        ({"options": described(path="/a b")}, "percent-encode"),
        ({"options": described(path="/100%")}, "percent-encode"),
        ({"options": described(path="/a#b")}, "percent-encode"),
        ({"options": described(headers={**CREDENTIAL, "X Y": "a"})}, "'X Y: a' is no line of a"),
        ({"options": described(headers={**CREDENTIAL, "X": "a\r\nb: c"})}, "is no line of a"),
        ({"options": answered(hits="")}, "search.hits: empty"),
        ({"options": answered(hits="a..b")}, "search.hits: 'a..b' is no place"),
        ({"options": answered(score="/a~2")}, "search.score: '/a~2' is no place"),
        ({"attached": replace(FIELDS, id="doc.")}, "attach.id: 'doc.' is no place"),
        ({"attached": replace(FIELDS, text=("a", ""))}, "attach.text: empty"),
    ],
)
async def test_it_is_named_with_a_remedy(changes: dict[str, Any], fault: str) -> None:
    endpoint = changes.pop("endpoint", "http://127.0.0.1:9")
    with pytest.raises(InputError, match=fault):
        await HttpApi.open(settings(endpoint, **changes))


@pytest.mark.parametrize("part", ["tenant", "authorization", "Authorization"])
async def test_where_the_request_tells_tenants_apart_may_be_named(part: str) -> None:
    attached = replace(FIELDS, tenant=part)
    adapter = await HttpApi.open(settings("http://127.0.0.1:9", attached=attached))
    await adapter.close()
