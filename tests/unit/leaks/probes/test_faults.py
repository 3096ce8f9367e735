"""Each probe catches its own fault, and what keeps its promises passes every one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio.lowlevel
import pytest

from probe_support import Toy, audit, memory
from retrieverbench.adapter import Description
from retrieverbench.errors import AdapterError, Rejected
from retrieverbench.leaks import CATALOG, RequestLog
from retrieverbench.model import Chunk, Hit, Layout, Query, Response, TenantId

pytestmark = pytest.mark.anyio
NOT_OF_CROWDS = [probe.id for probe in CATALOG if probe.leak_class != "starvation"]
"""Those of crowds need thousands of chunks and have a file of their own."""


@pytest.mark.parametrize("make", [Toy, memory("index")], ids=["toy", "memory"])
async def test_clean_retrievers_pass_every_probe(make: Callable[[RequestLog], Any]) -> None:
    results = await audit(make, *NOT_OF_CROWDS)
    bad = [r for r in results if r.outcome not in {"pass", "not applicable"}]
    assert not bad, [(r.probe, r.mode, r.arm, r.reason) for r in bad]
    assert all(result.control for result in results if result.outcome == "pass")


async def test_one_that_finds_nothing_passes_no_probe() -> None:
    class Silent(Toy):
        def candidates(self, query: Query) -> list[tuple[float, str]]:
            return []

        async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
            return []

        async def describe(self) -> Description:
            return replace(await super().describe(), chunks={})

    passed = {r.probe for r in await audit(Silent, *NOT_OF_CROWDS) if r.outcome == "pass"}
    assert not passed


class EitherCondition(Toy):
    def allowed(self, query: Query, chunk: Chunk, owner: TenantId) -> bool:
        own = super().allowed(replace(query, where={}), chunk, owner)
        return own or bool(query.where and self.matches(chunk, query.where))


class ConditionsLost(Toy):
    def matches(self, chunk: Chunk, where: Mapping[str, object]) -> bool:
        return True


class CallerWins(Toy):
    def allowed(self, query: Query, chunk: Chunk, owner: TenantId) -> bool:
        return owner.value == query.where.get("tenant", query.tenant.value)


class FilledUp(Toy):
    def score(self, query: Query, chunk: Chunk) -> float | None:
        return super().score(query, chunk) or 0.0


class AllOnes(Toy):
    """A lexical list that is filled up with anybody's chunks."""

    def candidates(self, query: Query) -> list[tuple[float, str]]:
        found = super().candidates(query)
        return found + [(1.0, uid) for uid in self.chunks if query.mode != "dense"]


class Sql(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return super().is_own(tenant, owner) or "' OR '1'='1" in tenant.value


class SqlError(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        if tenant.value.count("'") % 2:
            raise Rejected("syntax error at or near a quote")
        return super().is_own(tenant, owner)


class Like(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        expression = re.escape(tenant.value).replace("_", ".").replace("%", ".*")
        return re.fullmatch(expression, owner.value, re.DOTALL) is not None


class Commas(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return owner.value in tenant.value.split(",")


class Stars(Toy):
    async def search(self, query: Query) -> Response:
        if "*:*" in query.text and query.mode != "dense":
            query = replace(query, text=" ".join(c.text for c in self.chunks.values()))
        return await super().search(query)


class Parsed(Toy):
    async def search(self, query: Query) -> Response:
        if query.text.count('"') % 2:
            raise Rejected("cannot parse the query")
        return await super().search(query)


class KeysInSyntax(Toy):
    def matches(self, chunk: Chunk, where: Mapping[str, object]) -> bool:
        return any("'" in key for key in where) or super().matches(chunk, where)


class Prefix(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return owner.value.startswith(tenant.value)


class Tokens(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        parts = re.findall(r"\w+", tenant.value.lower())
        return bool(parts) and set(parts) <= set(re.findall(r"\w+", owner.value.lower()))


class NeverFound(Toy):
    """An analysed field that is asked for a whole name: names of two words find nothing."""

    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return "-" not in tenant.value and tenant == owner


class Folded(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return tenant.value.casefold() == owner.value.casefold()


class Stripped(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return tenant.value.strip() == owner.value.strip()


class Compatible(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        one, other = (unicodedata.normalize("NFKC", t.value) for t in (tenant, owner))
        return one == other


class Numeric(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        try:
            return float(tenant.value) == float(owner.value)
        except ValueError:
            return tenant == owner


class Stringified(Toy):
    def check(self, tenant: TenantId) -> None:
        pass

    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return str(tenant.value) == owner.value


class Cut(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return tenant.value[:63] == owner.value[:63]


class CutAt255(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return tenant.value[:255] == owner.value[:255]


class EmptyListIsAll(Toy):
    def check(self, tenant: TenantId) -> None:
        value: object = tenant.value
        if not isinstance(value, list):
            super().check(tenant)

    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        wanted: Any = tenant.value
        return not wanted or owner.value in wanted if isinstance(wanted, list) else tenant == owner


class TakesOrphans(Toy):
    """Loads what has no owner, and shows it to everybody."""

    def check(self, tenant: TenantId) -> None:
        pass

    def key(self, chunk: Chunk) -> str:
        return chunk.uid if isinstance(chunk.tenant.value, str) else chunk.id

    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return tenant == owner or not owner.value


class KeyIsId(Toy):
    """The later of two tenants' equal ids replaces the earlier."""

    def key(self, chunk: Chunk) -> str:
        return chunk.id if chunk.id.startswith("own") else chunk.uid


class DeletesAnybodys(Toy):
    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        for uid in uids:
            del self.owners[uid], self.chunks[uid]


class GetsAnybodys(Toy):
    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        return [Hit(uid, 1.0, None, self.chunks[uid].text) for uid in uids if uid in self.chunks]


class TellsForeign(Toy):
    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        if any(self.owners.get(uid, tenant) != tenant for uid in uids):
            raise Rejected("forbidden")
        return await super().get(tenant, uids)


class OnTheObject(Toy):
    """Keeps the tenant on the object while it waits."""

    async def search(self, query: Query) -> Response:
        self.now = query.tenant
        await anyio.lowlevel.checkpoint()
        return await super().search(replace(query, tenant=self.now))


class OnTheConnection(Toy):
    """A blank tenant is that of the question before it."""

    before = TenantId("acme")

    def check(self, tenant: TenantId) -> None:
        pass

    async def search(self, query: Query) -> Response:
        named: object = query.tenant.value
        if named == " ":
            return await super().search(replace(query, tenant=self.before))
        self.before = query.tenant
        return await super().search(query)


class CancelledHalfway(Toy):
    """The connection keeps the tenant of a cancelled question for the next one."""

    kept: TenantId | None = None

    async def search(self, query: Query) -> Response:
        query = replace(query, tenant=self.kept or query.tenant)
        self.kept = query.tenant
        await anyio.sleep(0.003)
        response = await super().search(query)
        self.kept = None
        return response


class Cache(Toy):
    def __init__(self, log: RequestLog) -> None:
        super().__init__(log)
        self.answers: dict[tuple[str, str, int], Response] = {}

    async def search(self, query: Query) -> Response:
        key = query.text, query.mode, query.k
        if key not in self.answers:
            self.answers[key] = await super().search(query)
        return self.answers[key]


class CountsAll(Toy):
    async def search(self, query: Query) -> Response:
        response = await super().search(query)
        return replace(response, total=None if response.total is None else len(self.chunks))


class TellsNoTotal(Toy):
    async def search(self, query: Query) -> Response:
        return replace(await super().search(query), total=None)


class ShowsStatement(Toy):
    async def search(self, query: Query) -> Response:
        if query.vector is not None and len(query.vector) != 32:
            raise Rejected("expected 32 numbers: SELECT uid FROM chunks")
        return await super().search(query)


class ShowsTokens(Toy):
    async def search(self, query: Query) -> Response:
        if query.vector is not None and len(query.vector) != 32:
            raise AdapterError(" ".join(chunk.text for chunk in self.chunks.values()))
        return await super().search(query)


class CountsFolded(Toy):
    async def describe(self) -> Description:
        counts: dict[str, int] = {}
        for owner in self.owners.values():
            name = owner.value.lower()
            counts[name] = counts.get(name, 0) + 1
        return replace(await super().describe(), chunks=counts)


CAUGHT_BY: Mapping[type[Toy], str] = {
    EitherCondition: "P05",
    ConditionsLost: "P05",
    CallerWins: "P06",
    FilledUp: "P11",
    AllOnes: "P11",
    Sql: "P12",
    SqlError: "P12",
    Like: "P13",
    Commas: "P12",
    Stars: "P14",
    Parsed: "P14",
    KeysInSyntax: "P15",
    Prefix: "P16",
    Tokens: "P17",
    NeverFound: "P17",
    Folded: "P18",
    Stripped: "P18",
    Compatible: "P19",
    Numeric: "P20",
    Stringified: "P20",
    Cut: "P41",
    CutAt255: "P41",
    EmptyListIsAll: "P23",
    TakesOrphans: "P24",
    KeyIsId: "P25",
    DeletesAnybodys: "P25",
    GetsAnybodys: "P27",
    TellsForeign: "P27",
    OnTheObject: "P31",
    OnTheConnection: "P32",
    CancelledHalfway: "P33",
    Cache: "P35",
    CountsAll: "P39",
    TellsNoTotal: "P39",
    ShowsStatement: "P40",
    ShowsTokens: "P40",
    CountsFolded: "P44",
}


@pytest.mark.parametrize("fault", CAUGHT_BY, ids=lambda fault: fault.__name__)
async def test_a_fault_is_caught_by_its_probe(fault: type[Toy]) -> None:
    results = await audit(fault, CAUGHT_BY[fault], modes=("dense", "lexical"))
    failed = [result for result in results if result.outcome == "fail"]
    assert failed, [(result.outcome, result.reason) for result in results]
    assert all(result.reason for result in failed)


@pytest.mark.parametrize("layout", ["filter", "index"])
async def test_names_that_a_wider_pattern_allows_are_exact_through_the_guard(
    layout: Layout,
) -> None:
    results = await audit(memory(layout), "P13", "P18", pattern=r".+")
    assert {result.outcome for result in results} == {"pass"}
    failed = await audit(Folded, "P18", pattern=r".+")
    assert {result.arm for result in failed if result.outcome == "fail"} == {
        "guarded",
        "below the guard",
    }


async def test_names_that_are_refused_at_the_load_must_not_be_found() -> None:
    class Plain(Toy):
        """Takes plain names only, when it loads and when it is asked."""

        def check(self, tenant: TenantId) -> None:
            super().check(tenant)
            if not re.fullmatch(r"[\w.-]+", tenant.value):
                raise Rejected("only plain names")

    class PlainAtLoad(Toy):
        """Takes plain names only when it loads; the others are somebody's in a search."""

        async def put(self, chunks: Sequence[Chunk]) -> None:
            if not all(re.fullmatch(r"[\w.-]+", chunk.tenant.value) for chunk in chunks):
                raise Rejected("only plain names")
            await super().put(chunks)

        def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
            return re.sub(r"[^\w.-]", "", tenant.value) == owner.value

    assert {r.outcome for r in await audit(PlainAtLoad, "P18")} == {"pass", "fail"}
    assert "got an error" in (await audit(Plain, "P13"))[-1].reason, "no TenantError"
