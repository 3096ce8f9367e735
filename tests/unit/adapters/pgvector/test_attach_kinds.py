"""Tables of other kinds than one ordinary table, attached."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from pgvector_attach_support import DOCS, Shop, shop_on
from pgvector_support import ACME, EXACT, GLOBEX, ask, make_query, needs_server, uids
from retrieverbench.adapter import Attached
from retrieverbench.engines import Started
from retrieverbench.errors import InputError
from retrieverbench.model import MODES, TenantId

pytestmark = [pytest.mark.anyio, needs_server]

BASE = replace(DOCS, metadata={})


@pytest.fixture(scope="module")
async def shop(server: Started) -> AsyncIterator[Shop]:
    async with shop_on(server) as made:
        yield made


async def own_only(shop: Shop, attached: Attached, **changes: object) -> tuple[str, ...]:
    """Checks that both tenants find their own in all modes; what weakens the table, or slows it."""
    async with shop.opened(attached, **changes) as adapter:
        for mode in MODES:
            for tenant in (ACME, GLOBEX):
                found = uids(await adapter.search(make_query(tenant, mode, k=100)))
                assert found
                assert {uid.partition("/")[0] for uid in found} == {tenant.value}
                assert (await adapter.explain(make_query(tenant, mode))).filtered == "before"
        told = await adapter.describe()
        return (*told.weaknesses, *told.slow["hybrid"])


async def test_a_table_with_a_partition_for_each_tenant(shop: Shop, server: Started) -> None:
    await ask(
        server,
        "CREATE TABLE shop.parts (doc_id text, owner text, body text, embedding vector(8))"
        " PARTITION BY LIST (owner);"
        "CREATE TABLE shop.parts_acme PARTITION OF shop.parts FOR VALUES IN ('acme');"
        "CREATE TABLE shop.parts_globex PARTITION OF shop.parts FOR VALUES IN ('globex');"
        "INSERT INTO shop.parts SELECT doc_id, owner, body, embedding FROM shop.docs;"
        "CREATE INDEX ON shop.parts USING gin (to_tsvector('english', body));"
        "CREATE INDEX ON shop.parts USING hnsw (embedding vector_cosine_ops);"
        "GRANT SELECT ON shop.parts TO shop_reader",
    )
    parts = replace(BASE, name="shop.parts")
    assert await own_only(shop, parts, layout="partition") == ()
    async with shop.opened(parts, layout="partition") as adapter:
        settings = (await adapter.describe()).settings
        assert (settings["partition_key"], settings["partitions"]) == ("LIST (owner)", 2)
        assert not (await adapter.search(make_query(TenantId("nobody")))).hits
    await ask(server, "DROP TABLE shop.parts")


async def test_a_materialized_view_and_a_view_with_the_readers_rights(
    shop: Shop, server: Started
) -> None:
    await ask(
        server,
        "CREATE MATERIALIZED VIEW shop.kept AS SELECT * FROM shop.docs;"
        "CREATE VIEW shop.seen WITH (security_invoker = true) AS SELECT * FROM shop.docs;"
        "GRANT SELECT ON shop.kept, shop.seen TO shop_reader",
    )
    lines = await own_only(shop, replace(BASE, name="shop.kept"))
    assert [line.split(" answers")[0] for line in lines] == [
        "no index", "no index", "no approximate index"
    ]  # fmt: skip
    assert await own_only(shop, replace(BASE, name="shop.seen"), options=EXACT) == ()
    await ask(server, "DROP VIEW shop.seen; DROP MATERIALIZED VIEW shop.kept")


async def test_what_does_not_fit_says_what_would(shop: Shop, server: Started) -> None:
    part = r"layout: 'partition' needs a table partitioned by 'owner', .* use layout filter"
    column = "attach.vector: role 'shop_reader' may not read column 'embedding'; GRANT SELECT"
    granted = "GRANT SELECT (doc_id, owner, body) ON shop.docs TO shop_reader"
    await ask(server, f"REVOKE SELECT ON shop.docs FROM shop_reader; {granted}")
    for changes, told in (({"layout": "partition"}, part), ({}, column)):
        with pytest.raises(InputError, match=told):
            async with shop.opened(BASE, **changes):
                pass
    await ask(server, "GRANT SELECT ON shop.docs TO shop_reader")


async def test_rows_without_a_vector_and_indexes_under_a_view_are_told(
    shop: Shop, server: Started
) -> None:
    await ask(
        server,
        "CREATE TABLE shop.bare AS SELECT doc_id, owner, body, embedding FROM shop.docs;"
        "UPDATE shop.bare SET embedding = NULL WHERE doc_id LIKE '%7';"
        "CREATE VIEW shop.over WITH (security_invoker = true) AS SELECT * FROM shop.bare;"
        "GRANT SELECT ON shop.bare, shop.over TO shop_reader",
    )
    async with shop.opened(replace(BASE, name="shop.over")) as adapter:
        told = await adapter.describe()
    assert any(
        line.startswith("8 of the rows have no vector in 'embedding'") for line in told.weaknesses
    )
    under = "shop.over is a view: CREATE INDEX ON the table under it "
    words = """USING gin (to_tsvector('english'::regconfig, "body"::text))"""
    for rest in ("(owner)", words):
        assert any(line.endswith(under + rest) for line in told.slow["hybrid"]), told.slow
    await ask(server, "DROP VIEW shop.over; DROP TABLE shop.bare")


async def test_quoted_names_and_owners_that_are_uuids(shop: Shop, server: Started) -> None:
    one, other = (f"0f8fad5b-d9cb-469f-a165-70867728950{digit}" for digit in "ab")
    await ask(
        server,
        'CREATE TABLE shop."My Docs" ("Id" bigserial, "O""wner" uuid, "select" text, v vector(8));'
        f'INSERT INTO shop."My Docs" ("O""wner", "select", v) SELECT (CASE owner WHEN \'acme\' '
        f"THEN '{one}' ELSE '{other}' END)::uuid, body, embedding FROM shop.docs;"
        'CREATE INDEX ON shop."My Docs" ("O""wner"); GRANT SELECT ON shop."My Docs" TO shop_reader',
    )
    mine = Attached("shop.My Docs", "Id", 'O"wner', ("select",), "v", {"query": "select"})
    async with shop.opened(mine, options=EXACT) as adapter:
        for mode in MODES:
            found = uids(await adapter.search(make_query(TenantId(one), mode, k=100)))
            assert found
            assert all(1 <= int(uid) <= 40 for uid in found)
            for nobody in ("acme", one.upper(), one[:-1]):
                assert not (await adapter.search(make_query(TenantId(nobody), mode))).hits
            assert (await adapter.explain(make_query(TenantId(one), mode))).filtered == "before"
        assert (await adapter.describe()).chunks == {one: 40, other: 40}
        assert [hit.tenant for hit in await adapter.get(TenantId(one), ["1", "41"])] == [one]
    await ask(server, 'DROP TABLE shop."My Docs"')


async def test_an_ivfflat_index_is_scanned_with_its_own_settings(
    shop: Shop, server: Started
) -> None:
    await ask(
        server,
        "CREATE TABLE shop.lists AS SELECT * FROM shop.docs;"
        "CREATE INDEX ON shop.lists USING ivfflat (embedding vector_l2_ops) WITH (lists = 4);"
        "CREATE INDEX ON shop.lists (owner);"
        "CREATE INDEX ON shop.lists USING gin (to_tsvector('english', body));"
        "GRANT SELECT ON shop.lists TO shop_reader",
    )
    options = {"place": {"metric": "l2"}, "search": {"probes": 3}}
    lists = replace(BASE, name="shop.lists")
    assert await own_only(shop, lists, options=options) == ()
    async with shop.opened(lists, options=options) as adapter:
        settings = (await adapter.describe()).settings
        assert settings["index"] == "ivfflat"
        assert (settings["lists"], settings["metric"]) == (4, "l2")
        assert (settings["ivfflat.probes"], settings["ivfflat.iterative_scan"]) == (
            "3", "relaxed_order"
        )  # fmt: skip
    await ask(server, "DROP TABLE shop.lists")


async def test_names_with_dots_and_domains_over_domains(shop: Shop, server: Started) -> None:
    await ask(
        server,
        'CREATE SCHEMA "my.shop"; CREATE DOMAIN "my.shop".inner_owner AS text;'
        'CREATE DOMAIN "my.shop".owner AS "my.shop".inner_owner CHECK (VALUE <> \'\');'
        'CREATE TABLE "my.shop"."all.docs" (doc_id text, owner "my.shop".owner, body text,'
        " embedding vector(8));"
        'INSERT INTO "my.shop"."all.docs" SELECT doc_id, owner, body, embedding FROM shop.docs;'
        'GRANT USAGE ON SCHEMA "my.shop" TO shop_reader;'
        'GRANT SELECT ON "my.shop"."all.docs" TO shop_reader',
    )
    await own_only(shop, replace(BASE, name="my.shop.all.docs"), options=EXACT)
    await ask(server, 'DROP SCHEMA "my.shop" CASCADE')


@pytest.mark.parametrize(
    ("kind", "value", "remedy"),
    [
        ("text[]", "ARRAY[owner]", "name a column of text, .* holds one owner in each row"),
        ("jsonb", "to_jsonb(owner)", "name a column of text, .* holds one owner in each row"),
        ("character(8)", "owner", r"ALTER TABLE shop\.odd ALTER COLUMN owner TYPE text"),
    ],
)
async def test_owners_of_a_type_that_is_not_exact_are_kept(
    shop: Shop, server: Started, kind: str, value: str, remedy: str
) -> None:
    """A cast is advised only where it leaves the values: of an array it would make '{acme}'."""
    await ask(
        server,
        f"CREATE TABLE shop.odd AS SELECT doc_id, ({value})::{kind} AS owner, body, embedding"
        " FROM shop.docs; GRANT SELECT ON shop.odd TO shop_reader",
    )
    try:
        with pytest.raises(InputError, match=f"does not compare texts exactly; {remedy}$"):
            async with shop.opened(replace(BASE, name="shop.odd")):
                pytest.fail("opened")
    finally:
        await ask(server, "DROP TABLE shop.odd")
