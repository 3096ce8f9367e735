"""A fault of one tenant, or of one pair, is seen whatever the seed draws."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit_support import audit_one
from retrieverbench.errors import Rejected
from retrieverbench.leaks import CATALOG, Draw
from retrieverbench.leaks.probe import BELOW
from retrieverbench.leaks.probes import everyone
from retrieverbench.model import Query, Response, TenantId
from retrieverbench.testing import audit_leaky
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio
MANY = tuple(f"t{number:02}" for number in range(40))
P49 = [probe for probe in CATALOG if probe.id == "P49"]
SEEDS = (*range(10), 2**40)


class OnePair(Memory):
    """t17 is also shown what t03 owns."""

    async def search(self, query: Query) -> Response:
        found = await Memory.search(self, query)
        if query.tenant.value != "t17":
            return found
        others = await Memory.search(self, replace(query, tenant=TenantId("t03")))
        both = sorted([*found.hits, *others.hits], key=lambda hit: -hit.score)
        return replace(found, hits=both[: query.k])


class FewHits(OnePair):
    """Refuses more than 20 hits; of 40 canaries two are shown, so that 20 are enough."""

    async def search(self, query: Query) -> Response:
        if query.k > 20:
            raise Rejected("k must be at most 20")
        return await OnePair.search(self, query)


@pytest.mark.parametrize("fault", ["one_tenant_sees_all", "one_tenant_sees_another"])
async def test_one_tenant_of_the_corpus_that_sees_others_is_caught_with_every_seed(
    fault: str,
) -> None:
    for seed in SEEDS:
        results = await audit_leaky(fault, P49, seed=seed)
        assert {result.outcome for result in results} == {"fail"}, seed
        assert {result.severity for result in results} == {"critical"}


async def test_one_pair_of_forty_tenants_is_named() -> None:
    for seed in SEEDS:
        result = await audit_one("P49", "lexical", OnePair, arms=BELOW, draw=Draw(seed, MANY))
        (finding,) = result.findings
        assert (finding.tenant, finding.owner) == ("t17", "t03")
        assert "not impersonated" not in result.limit
        assert result.facts["tenants that asked"] == len(MANY) + 1


async def test_an_adapter_that_refuses_so_many_hits_is_asked_for_fewer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(everyone, "FEWER", 20)
    result = await audit_one("P49", "dense", FewHits, arms=BELOW, draw=Draw(1, MANY))
    assert [finding.owner for finding in result.findings] == ["t03"]


async def test_tenants_beyond_the_most_are_drawn_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(everyone, "MOST", {"filter": 30})
    pair = []
    for seed in SEEDS:
        result = await audit_one("P49", "lexical", OnePair, arms=BELOW, draw=Draw(seed, MANY))
        pair.append(len(result.findings))
        assert result.limit.startswith("10 of the corpus's 40 tenants were not impersonated")
    assert {0, 1} == set(pair), "the same tenants were left out every time"
