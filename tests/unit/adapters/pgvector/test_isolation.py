"""Every tenant sees its own, against a real server with pgvector."""

from __future__ import annotations

import math
import random
from array import array
from dataclasses import replace

import anyio
import pytest

from pgvector_support import (
    ACME,
    DIMENSION,
    GLOBEX,
    ask,
    loaded,
    make_chunks,
    make_query,
    needs_server,
    uids,
)
from retrieverbench.adapter import Settings
from retrieverbench.engines import Started
from retrieverbench.errors import TenantError
from retrieverbench.model import MODES, Chunk, Layout, TenantId
from retrieverbench_adapters.pgvector import Options
from retrieverbench_adapters.pgvector.table import own_table, search_condition

pytestmark = [pytest.mark.anyio, needs_server]

LAYOUTS: tuple[Layout, ...] = ("filter", "partition", "index", "rls")
HOSTILE = [
    "acme' OR '1'='1", "'; DROP SCHEMA rb_hostile CASCADE; --", "' UNION SELECT uid FROM chunks --",
    "%", "_cme", "acm_", "acme\\", "O'Neil", "acme') or (true", "acme,globex", "acme globex", "''",
    "{x}", "%27", "%(tenant)s", "%s", "$1", '") or true or ("', "acme OR globex", "*", "acm?",
    "/.*/", "[* TO *]", '{"match_all":{}}', '{"$ne": ""}', "{{tenant}}", "${tenant}", "../globex",
    "acme/globex", "acme#", "acme|globex", "acme\n", "acme\t", " acme", "acme ", "acme\u00a0",
    "acme\u200b", "Acme", "ACME", "\u0430cme", "\uff41cme", "a" * 63, "a" * 64, "a" * 10_000,
    "1", "01", "1e3", "nan", "null", "NULL", "<->", ":*", "tenant_id:globex", "!!", "&|!()<->",
    "'\\''", "\\", "foo:*A",
    "a.com/it's", "a.com/'|'policy", "http://a.com/?q='&!(refund)':*",
    "E'\\x27'", "$$acme$$", "\U0001f600", "acme\u202e",
]  # fmt: skip


def unchecked(value: object) -> TenantId:
    """A tenant as only a defect above the adapter could make it."""
    tenant = object.__new__(TenantId)
    object.__setattr__(tenant, "value", value)
    return tenant


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_twins_of_another_tenant_never_show(server: Started, layout: Layout) -> None:
    chunks = [*make_chunks(ACME, 40), *make_chunks(GLOBEX, 40)]
    async with loaded(server, chunks, layout=layout) as adapter:
        for mode in MODES:
            for tenant in (ACME, GLOBEX):
                response = await adapter.search(make_query(tenant, mode, k=100))
                assert response.hits
                assert {hit.uid.partition("/")[0] for hit in response.hits} == {tenant.value}
            assert not (await adapter.search(make_query(TenantId("nobody"), mode))).hits
        description = await adapter.describe()
        assert description.chunks == {"acme": 40, "globex": 40}
        has_tables = layout in {"partition", "index"}
        assert description.settings["partitions"] == (2 if has_tables else 0)
        assert not description.weaknesses


@pytest.mark.parametrize("text", ["\0", "word\0", "\ud800"])
async def test_what_no_text_can_hold_matches_nothing(server: Started, text: str) -> None:
    """The server would call it an error of syntax."""
    chunks = make_chunks(ACME, 3)
    async with loaded(server, chunks) as adapter:
        for where in ({text: "value"}, {"key": text}):
            assert not (await adapter.search(make_query(ACME, "hybrid", where=where))).hits
        by_vector = await adapter.search(make_query(ACME, text=text))
        assert len(by_vector.hits) == len(chunks)
        beside = await adapter.search(make_query(ACME, "lexical", text=f"refund {text} policy"))
        assert beside.hits
        assert await adapter.get(ACME, [text]) == []
        await adapter.delete(ACME, [text])
        await adapter.move(text, ACME, GLOBEX)
        assert (await adapter.describe()).chunks == {"acme": len(chunks)}
        with pytest.raises(TenantError):
            await adapter.get(unchecked(text), [chunks[0].uid])


async def test_hostile_names_are_ordinary_owners(server: Started) -> None:
    """In layout `index` the server reads each name as a literal, as which a partition has it."""
    owners = [unchecked(text) for text in HOSTILE]
    chunks = [make_chunks(owner, 1)[0] for owner in owners]
    layouts: tuple[Layout, ...] = ("index", "rls")
    for layout in layouts:
        async with loaded(server, chunks, layout=layout) as adapter:
            for chunk in chunks:
                response = await adapter.search(make_query(chunk.tenant))
                assert uids(response) == [chunk.uid]


@pytest.mark.parametrize(
    "value", [None, "", 1, 1.0, True, ["acme", "globex"], {"$ne": ""}, b"acme", "acme\0"]
)
async def test_what_names_no_tenant_is_refused_before_any_request(
    server: Started, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loaded(server, make_chunks(ACME, 3)) as adapter:
        with monkeypatch.context() as without_connections:
            without_connections.setattr(adapter, "_searchers", None)
            without_connections.setattr(adapter._own, "_held", None)
            for mode in MODES:
                with pytest.raises(TenantError):
                    await adapter.search(make_query(unchecked(value), mode))
                with pytest.raises(TenantError):
                    await adapter.search(make_query(value, mode))  # type: ignore[arg-type]
            with pytest.raises(TenantError):
                await adapter.put([replace(make_chunks(ACME, 1)[0], tenant=unchecked(value))])


def test_the_tenant_is_bound_and_outside_of_the_users_conditions() -> None:
    table = own_table(Settings("", "rb_test", frozenset(MODES), dimension=DIMENSION), Options())
    query = make_query(ACME, where={"a": 1, "b": "x"})
    condition, parameters = search_condition(table, query)
    assert condition.as_string() == (
        '"t"."tenant" = %(tenant)s::text'
        ' AND ("t"."metadata" -> %(key0)s::text = %(value0)s::jsonb)'
        ' AND ("t"."metadata" -> %(key1)s::text = %(value1)s::jsonb)'
    )
    assert parameters == {
        "tenant": "acme", "key0": "a", "value0": "1", "key1": "b", "value1": '"x"'
    }  # fmt: skip


def small_and_big(order: str) -> list[Chunk]:
    """leaks.md's starving set: ten own rows at cosine 0.5, a crowd of foreign ones at 0.9."""
    rng = random.Random(11)

    def at_cosine(value: float) -> array[float]:
        side = [rng.gauss(0, 1) for _ in range(DIMENSION - 1)]
        scale = math.sqrt(1 - value * value) / math.hypot(*side)
        return array("f", [value, *(x * scale for x in side)])

    own = [replace(c, vector=at_cosine(0.5)) for c in make_chunks(ACME, 10)]
    crowd = [replace(c, vector=at_cosine(0.9)) for c in make_chunks(GLOBEX, 2_000)]
    chunks = own + crowd if order == "first" else crowd + own
    if order == "shuffled":
        rng.shuffle(chunks)
    return chunks


@pytest.mark.parametrize("order", ["first", "last", "shuffled"])
async def test_a_small_tenants_answer_does_not_depend_on_who_asked_before(
    server: Started, order: str
) -> None:
    north = array("f", [1.0, *[0.0] * (DIMENSION - 1)])
    small, big = make_query(ACME, vector=north), make_query(GLOBEX, vector=north)
    async with loaded(server, small_and_big(order), concurrency=1) as adapter:
        first = await adapter.search(small)
        for _ in range(25):
            assert len((await adapter.search(big)).hits) == 10
        assert await adapter.search(small) == first
        assert len(first.hits) == 10
        async with adapter._searchers.take() as connection:
            plans = await connection.execute(
                "SELECT generic_plans, custom_plans FROM pg_prepared_statements "
                "WHERE statement LIKE '%<=>%'"
            )
            assert await plans.fetchall() == [(0, 27)]


async def test_concurrent_tenants_get_their_own(server: Started) -> None:
    tenants = [TenantId(f"t{number}") for number in range(4)]
    chunks = [chunk for tenant in tenants for chunk in make_chunks(tenant, 20)]
    async with loaded(server, chunks, concurrency=32) as adapter:
        queries = [make_query(tenants[n % 4], MODES[n % 3]) for n in range(400)]
        alone = {(q.tenant, q.mode): uids(await adapter.search(q)) for q in queries[:12]}
        together: list[list[str]] = [[] for _ in queries]

        async def search(number: int) -> None:
            together[number] = uids(await adapter.search(queries[number]))

        async with anyio.create_task_group() as tasks:
            for number in range(len(queries)):
                tasks.start_soon(search, number)
        for query, found in zip(queries, together, strict=True):
            assert found == alone[query.tenant, query.mode]
            assert all(uid.startswith(f"{query.tenant}/") for uid in found)
        connections = await ask(
            server,
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'retrieverbench'",
        )
        assert connections == [(33,)], "one connection per search in flight, and the loader's"
