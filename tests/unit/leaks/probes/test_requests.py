"""P04 and P21: what goes out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probe_support import Toy, audit, memory, outcomes
from retrieverbench.adapter import Leg
from retrieverbench.model import Query, Response, TenantId

pytestmark = pytest.mark.anyio


async def test_clean_retrievers_pass() -> None:
    assert await outcomes(Toy, "P04", "P21") == {"pass"}
    assert await outcomes(memory(), "P21") == {"pass"}


@pytest.mark.parametrize(
    "condition",
    [
        None,
        {"bool": {}},
        {"prefix": {"tenant": "acme"}},
        {"bool": {"must_not": {"term": {"tenant": "globex"}}}},
        {
            "should": [
                {"key": "tenant", "match": {"value": "acme"}},
                {"is_empty": {"key": "tenant"}},
            ]
        },
        "tenant eq 'acme' or tenant ne 'globex'",
        {"sql": "tenant = %(tenant)s::text OR true", "parameters": {"tenant": "acme"}},
    ],
)
async def test_a_leg_that_is_open_for_others_fails(condition: object) -> None:
    class Open(Toy):
        def condition(self, tenant: TenantId) -> object:
            return condition

    results = await audit(Open, "P04")
    assert {(result.outcome, result.severity) for result in results} == {("fail", "critical")}
    assert "is true for a document with" in results[0].reason


@pytest.mark.parametrize("condition", [{"query_string": {"query": "x"}}, 7, "tenant ~ 'acme'"])
async def test_an_unknown_language_is_inconclusive(condition: object) -> None:
    class Strange(Toy):
        def condition(self, tenant: TenantId) -> object:
            return condition

    assert await outcomes(Strange, "P04") == {"inconclusive"}


class Places(Toy):
    """Keeps tenants in places of their own; no condition is needed there."""

    def condition(self, tenant: TenantId) -> object:
        return None

    async def search(self, query: Query) -> Response:
        self.log.request(f"search in {query.tenant.value}", [Leg("root", None)], {})
        return await super().search(query)


async def test_a_place_per_tenant_needs_no_condition_if_it_is_another_place() -> None:
    class OnePlace(Toy):
        def condition(self, tenant: TenantId) -> object:
            return None

    assert await outcomes(Places, "P04", layout="index") == {"pass"}
    assert await outcomes(Places, "P04") == {"fail"}
    assert await outcomes(OnePlace, "P04", layout="index") == {"fail"}


async def test_without_a_recorder_it_does_not_apply() -> None:
    assert await outcomes(memory(), "P04") == {"not applicable"}


class Unrefusing(Toy):
    """Asks for a tenant that is None as for any."""

    def check(self, tenant: TenantId) -> None:
        pass


class FailOpen(Unrefusing):
    """An absent tenant means every tenant."""

    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return not tenant.value or tenant == owner


class Openly(Unrefusing):
    """Sends no condition for an absent tenant, and finds nothing by chance."""

    def condition(self, tenant: TenantId) -> object:
        return super().condition(tenant) if tenant.value else {"bool": {}}


class LastTenant(Unrefusing):
    """Uses the last tenant when there is none."""

    last = TenantId("acme")

    async def search(self, query: Query) -> Response:
        value: object = query.tenant.value
        if not isinstance(value, str) or not value.strip():
            return Response((await super().search(replace(query, tenant=self.last))).hits)
        self.last = query.tenant
        return await super().search(query)


@pytest.mark.parametrize("retriever", [FailOpen, Openly, LastTenant])
async def test_a_missing_tenant_that_finds_anything_fails(retriever: type[Toy]) -> None:
    results = await audit(retriever, "P21")
    by_arm = {(result.arm, result.outcome) for result in results}
    assert by_arm == {("guarded", "pass"), ("below the guard", "fail")}
    assert {result.severity for result in results} == {"critical"}


async def test_empty_below_the_guard_is_as_good_as_a_refusal() -> None:
    assert await outcomes(Unrefusing, "P21") == {"pass"}
