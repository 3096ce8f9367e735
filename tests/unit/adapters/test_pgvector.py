"""The adapter against a real server with pgvector."""

from __future__ import annotations

import math
import random
import re
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import numpy as np
import psycopg
import pytest

from retrieverbench.adapter import Secret, Settings, Writable
from retrieverbench.engines import Started, pgvector
from retrieverbench.errors import (
    BackendError,
    InputError,
    Refused,
    Rejected,
    RetrieverBenchError,
    TenantError,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import MODES, Chunk, Layout, Mode, Query, Response, TenantId
from retrieverbench_adapters.pgvector import Options, Pgvector
from retrieverbench_adapters.pgvector.statements import schema_name, search_condition

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(pgvector.missing() is not None, reason=str(pgvector.missing())),
]

DIMENSION = 8
ACME, GLOBEX = TenantId("acme"), TenantId("globex")
EXACT: Mapping[str, Mapping[str, object]] = {"search": {"exact": True}}
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


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[Started]:
    async with pgvector.start({}) as started:
        yield started


def settings_for(server: Started, place: str = "rb_test", **changes: Any) -> Settings:
    settings = Settings(
        endpoint=server.endpoint,
        place=place,
        modes=frozenset(MODES),
        dimension=DIMENSION,
        secrets=server.secrets,
    )
    return replace(settings, **changes)


@asynccontextmanager
async def opened(server: Started, **changes: Any) -> AsyncIterator[Pgvector]:
    adapter = await Pgvector.open(settings_for(server, **changes))
    try:
        yield adapter
    finally:
        await adapter.close()


@asynccontextmanager
async def loaded(
    server: Started, chunks: Sequence[Chunk], **changes: Any
) -> AsyncIterator[Pgvector]:
    async with opened(server, **changes) as adapter:
        await adapter.put(chunks)
        await adapter.settle()
        yield adapter


async def connect(server: Started) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    user, password = (server.secrets[name].reveal() for name in ("user", "password"))
    return await psycopg.AsyncConnection.connect(server.endpoint, user=user, password=password)


async def ask(server: Started, sql: str) -> list[tuple[Any, ...]]:
    async with await connect(server) as connection:
        cursor = await connection.execute(sql.encode())
        return await cursor.fetchall() if cursor.description else []


def unchecked(value: object) -> TenantId:
    """A tenant as only a defect above the adapter could make it."""
    tenant = object.__new__(TenantId)
    object.__setattr__(tenant, "value", value)
    return tenant


def vector(rng: random.Random, dimension: int = DIMENSION) -> array[float]:
    return array("f", (rng.gauss(0, 1) for _ in range(dimension)))


def make_chunks(tenant: TenantId, count: int, seed: int = 1, **changes: Any) -> list[Chunk]:
    """The same texts and vectors for every tenant, so that a missing filter must show."""
    rng = random.Random(seed)
    words = ["leave", "refund", "limits", "incident", "security", "contract", "policy", "API"]
    return [
        replace(
            Chunk(f"c{number:03}", tenant, " ".join(rng.choices(words, k=6)), vector=vector(rng)),
            **changes,
        )
        for number in range(count)
    ]


def make_query(tenant: TenantId, mode: Mode = "dense", k: int = 10, **changes: Any) -> Query:
    query = Query("refund policy", tenant, k, mode, vector(random.Random(7)))
    return replace(query, **changes)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other))


def brute_force(chunks: Sequence[Chunk], query: Query) -> list[tuple[str, float]]:
    assert query.vector is not None
    scored = [
        (chunk.uid, cosine(query.vector, chunk.vector or ()))
        for chunk in chunks
        if chunk.tenant == query.tenant
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[: query.k]


def uids(response: Response) -> list[str]:
    return [hit.uid for hit in response.hits]


# Ranking


async def test_exact_dense_search_agrees_with_brute_force(server: Started) -> None:
    chunks = [*make_chunks(ACME, 200, seed=2), *make_chunks(GLOBEX, 100, seed=3)]
    async with loaded(server, chunks, options=EXACT) as adapter:
        for seed in range(20):
            query = make_query(ACME, vector=vector(random.Random(seed)))
            expected = brute_force(chunks, query)
            response = await adapter.search(query)
            assert uids(response) == [uid for uid, _ in expected]
            assert [hit.score for hit in response.hits] == pytest.approx(
                [score for _, score in expected], abs=1e-6
            )
        description = await adapter.describe()
        assert "approximate" not in description.properties


async def test_exact_never_uses_the_vector_index_and_the_default_does(server: Started) -> None:
    chunks = make_chunks(ACME, 3_000)
    scans = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'chunks_vector'"
    for options, used in ((EXACT, False), ({}, True)):
        async with loaded(server, chunks, options=options, concurrency=1) as adapter:
            response = await adapter.search(make_query(ACME))
            assert len(response.hits) == 10
            async with adapter._searchers.take() as connection:
                await connection.execute("SELECT pg_stat_force_next_flush()")
            assert bool((await ask(server, scans))[0][0]) is used


async def test_equal_scores_come_in_the_order_of_uids(server: Started) -> None:
    same = vector(random.Random(1))
    chunks = make_chunks(ACME, 30, vector=same, text="refund policy")
    random.Random(4).shuffle(chunks)
    async with loaded(server, chunks, options=EXACT) as adapter:
        for mode in MODES:
            response = await adapter.search(make_query(ACME, mode, vector=same))
            assert uids(response) == [f"acme/c{number:03}" for number in range(10)], mode


async def test_words_are_ored_stemmed_and_ranked(server: Started) -> None:
    texts = ["refunds refunded refunding", "a policy", "refund policy refunds", "holiday"]
    chunks = [
        replace(chunk, text=text)
        for chunk, text in zip(make_chunks(ACME, len(texts)), texts, strict=True)
    ]
    async with loaded(server, chunks) as adapter:
        response = await adapter.search(make_query(ACME, "lexical", text="the refund policies"))
        assert set(uids(response)) == {"acme/c000", "acme/c001", "acme/c002"}
        assert uids(response)[-1] == "acme/c001"
        scores = [hit.score for hit in response.hits]
        assert scores == sorted(scores, reverse=True)
        assert min(scores) > 0
        for words in ("the of", "", "unheard"):
            assert not (await adapter.search(make_query(ACME, "lexical", text=words))).hits


async def test_titles_are_searched_too(server: Started) -> None:
    chunks = make_chunks(ACME, 3, text="nothing", title="Refunds")
    async with loaded(server, chunks) as adapter:
        response = await adapter.search(make_query(ACME, "lexical", text="refund"))
        assert len(response.hits) == 3


async def test_hybrid_is_the_reciprocal_rank_fusion_of_both_legs(server: Started) -> None:
    chunks = [*make_chunks(ACME, 60, seed=5), *make_chunks(GLOBEX, 60, seed=6)]
    options = {"search": {"exact": True, "rrf_k": 7, "depth": 15}}
    async with loaded(server, chunks, options=options) as adapter:
        expected: dict[str, float] = {}
        for mode in ("dense", "lexical"):
            leg = await adapter.search(make_query(ACME, mode, k=15))
            for rank, uid in enumerate(uids(leg), start=1):
                expected[uid] = expected.get(uid, 0) + 1 / (7 + rank)
        order = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))[:10]

        response = await adapter.search(make_query(ACME, "hybrid"))

        assert uids(response) == [uid for uid, _ in order]
        assert [hit.score for hit in response.hits] == pytest.approx([score for _, score in order])


async def test_relaxed_order_is_sorted_again(server: Started) -> None:
    options = {"search": {"iterative_scan": "relaxed_order", "ef_search": 1}}
    rng = random.Random(8)
    chunks = [replace(chunk, vector=vector(rng, 32)) for chunk in make_chunks(ACME, 3_000)]
    async with loaded(server, chunks, options=options, dimension=32) as adapter:
        unsorted = 0
        for _ in range(10):
            query = make_query(ACME, k=50, vector=vector(rng, 32))
            found = uids(await adapter.search(query))
            async with adapter._searchers.take() as connection:
                cursor = await connection.execute(
                    "SELECT uid FROM rb_test.chunks WHERE tenant = 'acme' "
                    "ORDER BY vector <=> %s LIMIT 50",
                    [np.asarray(query.vector)],
                )
                as_scanned = [row[0] for row in await cursor.fetchall()]
            unsorted += found != as_scanned
            scores = [hit.score for hit in (await adapter.search(query)).hits]
            assert scores == sorted(scores, reverse=True)
            assert set(found) == set(as_scanned)
        assert unsorted, "the scan must have something to sort, or this proves nothing"


async def test_where_is_anded_and_compares_types_as_json_does(server: Started) -> None:
    values: list[dict[str, Any]] = [{"a": 1}, {"a": "1"}, {"a": True}, {"a": 1.0}, {"b'\"": "x"}]
    chunks = [
        replace(chunk, metadata=metadata)
        for tenant in (ACME, GLOBEX)
        for chunk, metadata in zip(make_chunks(tenant, 5), values, strict=True)
    ]
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"a": 1}, {"c000", "c003"}),
        ({"a": "1"}, {"c001"}),
        ({"a": True}, {"c002"}),
        ({"b'\"": "x"}, {"c004"}),
        ({"a": 1, "b'\"": "x"}, set()),
        ({"tenant": "globex"}, set()),
        ({"a') OR true --": 1}, set()),
    ]
    async with loaded(server, chunks, options=EXACT) as adapter:
        for where, expected in cases:
            response = await adapter.search(make_query(ACME, where=where))
            assert set(uids(response)) == {f"acme/{name}" for name in expected}, where


async def test_text_and_tenant_come_when_wanted(server: Started) -> None:
    chunks = make_chunks(ACME, 3, title="Refunds")
    texts = {chunk.uid: chunk.text for chunk in chunks}
    async with loaded(server, chunks) as adapter:
        for mode in MODES:
            wanted = await adapter.search(
                make_query(ACME, mode, want=frozenset({"text", "tenant"}))
            )
            assert {hit.uid: hit.text for hit in wanted.hits} == texts
            assert {hit.tenant for hit in wanted.hits} == {"acme"}
            bare = await adapter.search(make_query(ACME, mode))
            assert {hit.text for hit in bare.hits} == {None}


# Isolation


@pytest.mark.parametrize("layout", ["filter", "partition"])
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
        assert description.settings["partitions"] == (2 if layout == "partition" else 0)


async def test_hostile_tenants_see_nothing_and_hostile_words_are_words(server: Started) -> None:
    chunks = [*make_chunks(ACME, 10), *make_chunks(GLOBEX, 10)]
    async with loaded(server, chunks, place="rb_hostile") as adapter:
        for text in HOSTILE:
            for mode in MODES:
                foreign = await adapter.search(make_query(unchecked(text), mode))
                assert not foreign.hits, (text, mode)
                own = await adapter.search(make_query(ACME, mode, text=text, k=100))
                assert all(uid.startswith("acme/") for uid in uids(own)), (text, mode)
            by_key = await adapter.search(make_query(ACME, where={text: text}))
            assert not by_key.hits
        nul = await adapter.search(make_query(ACME, "lexical", text="refund\0policy"))
        assert nul.hits
        assert (await adapter.describe()).chunks == {"acme": 10, "globex": 10}


async def test_hostile_names_are_ordinary_owners(server: Started) -> None:
    owners = [unchecked(text) for text in HOSTILE if text.isprintable()]
    chunks = [make_chunks(owner, 1)[0] for owner in owners]
    for layout in ("filter", "partition"):
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
            without_connections.setattr(adapter, "_loader", None)
            for mode in MODES:
                with pytest.raises(TenantError):
                    await adapter.search(make_query(unchecked(value), mode))
                with pytest.raises(TenantError):
                    await adapter.search(make_query(value, mode))  # type: ignore[arg-type]
            with pytest.raises(TenantError):
                await adapter.put([replace(make_chunks(ACME, 1)[0], tenant=unchecked(value))])


def test_the_tenant_is_bound_and_outside_of_the_users_conditions() -> None:
    condition, parameters = search_condition(make_query(ACME, where={"a": 1, "b": "x"}))
    assert condition.as_string() == (
        "tenant = %(tenant)s::text AND metadata -> %(key0)s::text = %(value0)s::jsonb"
        " AND metadata -> %(key1)s::text = %(value1)s::jsonb"
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
    crowd = [replace(c, vector=at_cosine(0.9)) for c in make_chunks(GLOBEX, 4_000)]
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


# Life cycle


async def test_it_is_a_writable_adapter(server: Started) -> None:
    async with opened(server) as adapter:
        assert isinstance(adapter, Writable)


async def test_what_is_put_is_seen_after_settle_and_the_last_of_a_uid_counts(
    server: Started,
) -> None:
    chunks = make_chunks(ACME, 5)
    async with loaded(server, chunks, options=EXACT) as adapter:
        await adapter.put([replace(chunks[0], text="first try"), replace(chunks[1], text="other")])
        await adapter.put([replace(chunks[0], text="zebra", metadata={"v": 2}), *chunks[2:3]])
        before = await adapter.search(make_query(ACME, "lexical", text="zebra"))
        assert not before.hits
        await adapter.settle()
        after = await adapter.search(make_query(ACME, "lexical", text="zebra"))
        assert uids(after) == ["acme/c000"]
        gone = await adapter.search(make_query(ACME, "lexical", text=f"{chunks[0].text} try"))
        assert "acme/c000" not in uids(gone)
        assert uids(await adapter.search(make_query(ACME, where={"v": 2}))) == ["acme/c000"]
        assert (await adapter.describe()).chunks == {"acme": 5}


async def test_a_batch_with_a_wrong_chunk_is_refused_whole(server: Started) -> None:
    good = make_chunks(ACME, 5)
    wrong = [
        replace(good[0], vector=array("f", [1.0, 2.0])),
        replace(good[0], vector=array("f", [math.nan] * DIMENSION)),
        replace(good[0], vector=None),
        replace(good[0], text="nul \0"),
        replace(good[0], metadata={"a": math.nan}),
        replace(good[0], text="\ud800"),
    ]
    async with opened(server) as adapter:
        for chunk in wrong:
            with pytest.raises(Rejected):
                await adapter.put([*good[1:], chunk])
        await adapter.put(good[:1])
        await adapter.settle()
        assert (await adapter.describe()).chunks == {"acme": 1}


async def test_a_zero_vector_has_no_cosine(server: Started) -> None:
    zero = array("f", [0.0] * DIMENSION)
    async with opened(server) as adapter:
        await adapter.put([replace(make_chunks(ACME, 1)[0], vector=zero)])
        with pytest.raises(Rejected, match="check constraint"):
            await adapter.settle()
        with pytest.raises(Rejected, match="zero"):
            await adapter.search(make_query(ACME, vector=zero))
        with pytest.raises(Rejected, match="3 numbers, expected 8"):
            await adapter.search(make_query(ACME, vector=array("f", [1, 2, 3])))


async def test_lexical_alone_needs_no_vectors(server: Started) -> None:
    chunks = make_chunks(ACME, 5, vector=None)
    changes = {"dimension": 0, "modes": frozenset({"lexical"})}
    async with loaded(server, chunks, **changes) as adapter:
        assert (await adapter.search(make_query(ACME, "lexical", vector=None))).hits
        settings = (await adapter.describe()).settings
        assert (settings["index"], settings["vector_column"]) == ("none", None)


async def test_close_drops_only_its_own_schema_and_may_come_twice(server: Started) -> None:
    schemas = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'rb%' ORDER BY 1"
    await ask(server, "CREATE SCHEMA rb_foreign")
    async with loaded(server, make_chunks(ACME, 3)) as adapter:
        assert await ask(server, schemas) == [("rb_foreign",), ("rb_test",)]
        await adapter.close()
        await adapter.close()
        with pytest.raises(Unavailable, match="was closed"):
            await adapter.search(make_query(ACME))
    assert await ask(server, schemas) == [("rb_foreign",)]
    await ask(server, "DROP SCHEMA rb_foreign")


async def test_an_existing_place_is_left_alone(server: Started) -> None:
    async with loaded(server, make_chunks(ACME, 3)) as adapter:
        with pytest.raises(Rejected, match=r'schema "rb_test" already exists; choose another'):
            await Pgvector.open(settings_for(server))
        assert (await adapter.describe()).chunks == {"acme": 3}


async def test_long_names_of_places_do_not_meet(server: Started) -> None:
    names = [f"rb_{'x' * 80}{end}" for end in "ab"]
    assert len({schema_name(name) for name in names}) == 2
    async with (
        loaded(server, make_chunks(ACME, 1), place=names[0]),
        loaded(server, make_chunks(ACME, 2), place=names[1]) as other,
    ):
        assert (await other.describe()).chunks == {"acme": 2}


# Errors


async def test_a_cancelled_search_leaves_the_connection_clean(server: Started) -> None:
    async with loaded(server, make_chunks(ACME, 2_000), options=EXACT, concurrency=1) as adapter:
        query = make_query(ACME, "hybrid", k=2_000)
        expected = await adapter.search(query)
        for delay in (0, 0.0005, 0.002, 0.005):
            with anyio.move_on_after(delay):
                await adapter.search(make_query(GLOBEX, "hybrid", k=2_000))
            assert await adapter.search(query) == expected


async def test_an_open_transaction_never_reaches_the_next_search(server: Started) -> None:
    async with loaded(server, make_chunks(ACME, 3), concurrency=1) as adapter:
        async with adapter._searchers.take() as connection:
            await connection.execute("BEGIN; SET LOCAL work_mem = '1MB'")
        async with adapter._searchers.take() as connection:
            cursor = await connection.execute("SHOW work_mem")
            assert await cursor.fetchone() == ("64MB",)


async def test_a_connection_in_use_while_the_place_is_closed_is_closed_after(
    server: Started,
) -> None:
    async with opened(server, concurrency=1) as adapter:
        async with adapter._searchers.take() as connection:
            await adapter.close()
        assert connection.closed


async def test_a_timeout_is_told_and_the_next_answer_is_right(server: Started) -> None:
    chunks = make_chunks(ACME, 20)
    async with loaded(server, chunks, timeout=0.3, concurrency=1) as adapter:
        async with await connect(server) as lock:
            await lock.execute("LOCK TABLE rb_test.chunks")
            with pytest.raises(TimedOut, match="canceling statement due to statement timeout"):
                await adapter.search(make_query(ACME))
            await lock.rollback()
        assert uids(await adapter.search(make_query(ACME, k=20)))


async def test_more_searches_than_connections_wait_and_then_fail(server: Started) -> None:
    async with loaded(server, make_chunks(ACME, 3), timeout=0.2, concurrency=1) as adapter:
        async with adapter._searchers.take():
            with pytest.raises(Unavailable, match="no connection was free") as caught:
                await adapter.search(make_query(ACME))
            assert caught.value.code.word == "pool_timeout"
        assert (await adapter.search(make_query(ACME))).hits


async def test_a_lost_connection_is_an_error_once_and_replaced(server: Started) -> None:
    async with loaded(server, make_chunks(ACME, 3), concurrency=1) as adapter:
        await ask(
            server,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'retrieverbench'",
        )
        with pytest.raises(Unavailable, match="terminating connection"):
            await adapter.search(make_query(ACME))
        assert (await adapter.search(make_query(ACME))).hits
        with pytest.raises(Unavailable):
            await adapter.describe()
        assert (await adapter.describe()).chunks == {"acme": 3}


async def test_a_wrong_password_is_refused_and_not_shown(server: Started) -> None:
    secrets = {**server.secrets, "password": Secret("open-sesame")}
    with pytest.raises(Refused, match="password authentication failed") as caught:
        await Pgvector.open(settings_for(server, secrets=secrets))
    assert "open-sesame" not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_dead_server_is_unavailable() -> None:
    async with pgvector.start({}) as server:
        adapter = await Pgvector.open(settings_for(server))
    with pytest.raises(Unavailable):
        await adapter.search(make_query(ACME))
    with pytest.raises(Unavailable, match="refused"):
        await adapter.search(make_query(ACME))
    with pytest.raises(Unavailable, match="'rb_test' may be left"):
        await adapter.close()
    await adapter.close()
    with pytest.raises(Unavailable, match="refused"):
        await Pgvector.open(settings_for(server))


async def test_a_server_with_too_few_connections_is_told_at_open() -> None:
    async with pgvector.start({"max_connections": 10}) as server:
        with pytest.raises(Unavailable, match="too many clients"):
            await Pgvector.open(settings_for(server, concurrency=32))
        left = "SELECT count(*) FROM pg_namespace WHERE nspname = 'rb_test'"
        assert await ask(server, left) == [(0,)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"place": "public"}, "place: 'public' does not begin with 'rb_'"),
        ({"layout": "rls"}, "layout: 'rls' is not there"),
        ({"dimension": 0}, "dimension: 0 with a mode that needs vectors"),
        ({"secrets": {"api_key": Secret("x")}}, "'api_key' is unknown"),
        ({"endpoint": "host:5432 password=open-sesame"}, "endpoint: this is no address"),
        ({"options": {"search": {"ef_serch": 1}}}, "search.ef_serch: unknown key.*'ef_search'"),
        ({"options": {"search": {"ef_search": 0}}}, "search.ef_search: 0 is wrong"),
        ({"options": {"search": {"ranking": "bm25"}}}, "search.ranking: 'bm25' is"),
    ],
)
async def test_wrong_settings_are_named(
    server: Started, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        await Pgvector.open(settings_for(server, **changes))
    assert "open-sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"search": {"work_mem": "plenty"}}, Rejected, "work_mem"),
        ({"place": {"text_search_config": "klingon"}}, Rejected, "klingon"),
        ({"place": {"m": 100, "ef_construction": 100}}, Rejected, "ef_construction"),
    ],
)
async def test_what_the_server_refuses_is_told_in_its_words(
    server: Started,
    options: Mapping[str, Mapping[str, object]],
    error: type[BackendError],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        async with loaded(server, make_chunks(ACME, 3), options=options):
            pytest.fail("settled")
    left = await ask(server, "SELECT count(*) FROM pg_namespace WHERE nspname = 'rb_test'")
    assert left == [(0,)]


async def test_a_server_without_the_extension_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with pgvector.start({}) as server:
        await ask(server, "DROP EXTENSION vector")
        monkeypatch.setattr(
            "retrieverbench_adapters.pgvector.CREATE_EXTENSION", "CREATE EXTENSION vectorr"
        )
        with pytest.raises(Unsupported, match='extension "vectorr" is not available'):
            await Pgvector.open(settings_for(server))


async def test_errors_show_no_stored_text(server: Started) -> None:
    secret_text = "merger with Initech"
    zero = array("f", [0.0] * DIMENSION)
    async with opened(server) as adapter:
        await adapter.put([replace(make_chunks(ACME, 1)[0], text=secret_text, vector=zero)])
        with pytest.raises(RetrieverBenchError) as caught:
            await adapter.settle()
        assert "Initech" not in str(caught.value)


# What is told


async def test_every_option_sent_is_read_back(server: Started) -> None:
    options: dict[str, dict[str, object]] = {
        "connect": {"connect_timeout": 5, "settle_timeout": 60},
        "place": {
            "index": "hnsw", "m": 5, "ef_construction": 33, "text_search_config": "german",
            "maintenance_work_mem": "77MB",
        },
        "search": {
            "exact": False, "ef_search": 77, "iterative_scan": "relaxed_order",
            "max_scan_tuples": 12345, "scan_mem_multiplier": 2.5, "work_mem": "33MB",
            "plan_cache_mode": "auto", "ranking": "ts_rank", "normalization": 1, "rrf_k": 9,
            "depth": 50,
        },
    }  # fmt: skip
    assert options["place"].keys() == Options().place.__dataclass_fields__.keys()
    assert options["search"].keys() == Options().search.__dataclass_fields__.keys()
    chunks = make_chunks(ACME, 10)
    async with loaded(server, chunks, options=options, concurrency=3) as adapter:
        before = await adapter.describe()
        told = {name.removeprefix("hnsw."): str(value) for name, value in before.settings.items()}
        for name, value in {**options["place"], **options["search"]}.items():
            assert told[name] == str(value), name
        assert before.properties == {"approximate"}
        assert before.settings["tenant_column"] == "text collate C not null"
        assert before.settings["vector_column"] == f"vector({DIMENSION})"
        assert re.fullmatch(r"\d+\.\d+.*, pgvector \d+\.\d+\.\d+", before.server_version)
        for mode in MODES:
            await adapter.search(make_query(ACME, mode))
        assert await adapter.describe() == before


async def test_a_setting_lost_on_one_connection_is_seen(server: Started) -> None:
    async with loaded(server, make_chunks(ACME, 3), concurrency=2) as adapter:
        before = await adapter.describe()
        async with adapter._searchers.take() as connection:
            await connection.execute("RESET ALL")
        after = await adapter.describe()
        assert before.settings["work_mem"] == "64MB"
        assert after.settings["work_mem"] == "4MB and 64MB"
