"""A table of the user's, read by a role with SELECT and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from pgvector_attach_support import CHUNKS, DOCS, Log, Shop, shop_on
from pgvector_support import ACME, EXACT, GLOBEX, ask, loaded, make_query, needs_server, uids
from retrieverbench.adapter import NOBODY, Attached
from retrieverbench.engines import Started
from retrieverbench.errors import InputError, Refused, Rejected
from retrieverbench.model import MODES, Mode, TenantId

pytestmark = [pytest.mark.anyio, needs_server]


@pytest.fixture(scope="module")
async def shop(server: Started) -> AsyncIterator[Shop]:
    async with shop_on(server) as made:
        yield made


async def test_each_tenant_finds_its_own_in_every_mode(shop: Shop) -> None:
    async with shop.opened() as adapter:
        for mode in MODES:
            for tenant in (ACME, GLOBEX):
                found = uids(await adapter.search(make_query(tenant, mode, k=100)))
                assert found
                assert {uid.partition("/")[0] for uid in found} == {tenant.value}
            assert not (await adapter.search(make_query(TenantId("nobody"), mode))).hits
        wanted = frozenset({"text", "tenant", "total"})
        response = await adapter.search(make_query(ACME, want=wanted, k=3))
        texts = {chunk.uid: chunk.text for chunk in CHUNKS}
        assert [(hit.tenant, hit.text) for hit in response.hits] == [
            ("acme", texts[uid]) for uid in uids(response)
        ]
        assert response.total == 40


async def test_the_answers_are_those_of_the_same_chunks_in_a_place_of_our_own(
    shop: Shop, server: Started
) -> None:
    async with shop.opened(options=EXACT) as attached, loaded(server, CHUNKS, options=EXACT) as own:
        for mode in MODES:
            query = make_query(ACME, mode)
            expected = await own.search(query)
            found = await attached.search(query)
            assert uids(found) == uids(expected)
            assert [h.score for h in found.hits] == pytest.approx([h.score for h in expected.hits])


async def test_nothing_is_written_and_nothing_can_be(shop: Shop, server: Started) -> None:
    log = Log()
    state = (
        "SELECT (SELECT md5(string_agg(d::text, ';' ORDER BY doc_id)) FROM shop.docs AS d), "
        "(SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_db_role_setting)"
    )
    before = await ask(server, state)
    async with shop.opened(recorder=log, concurrency=2) as adapter:
        for mode in MODES:
            await adapter.search(make_query(ACME, mode, want=frozenset({"total"})))
            await adapter.explain(make_query(ACME, mode))
        await adapter.get(ACME, ["acme/c000"])
        await adapter.describe()
        for _ in range(2):
            async with adapter._searchers.take() as connection:
                with pytest.raises(Exception, match="read-only transaction"):
                    await connection.execute("CREATE TEMP TABLE mine (id int)")
        for call in (
            adapter.put(CHUNKS[:1]),
            adapter.settle(),
            adapter.delete(ACME, ["acme/c000"]),
            adapter.move("acme/c000", ACME, GLOBEX),
        ):
            with pytest.raises(Rejected, match="only read"):
                await call
    assert await ask(server, state) == before
    words = {statement.split()[0] for statement in log.statements()}
    assert words <= {"SELECT", "EXPLAIN", "WITH"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "shop.dcs"}, r"attach.name: there is no table 'shop.dcs'"),
        ({"name": "Shop.docs"}, r"attach.name: there is no table 'Shop.docs'"),
        ({"id": "docid"}, r"attach.id: shop.docs has no column 'docid'; did you mean 'doc_id'"),
        ({"tenant": "ownr"}, r"attach.tenant: .* did you mean 'owner'"),
        ({"text": ("body", "bdy")}, r"attach.text\[1\]: .* did you mean 'body'"),
        ({"vector": "embeding"}, r"attach.vector: .* did you mean 'embedding'"),
        ({"metadata": {"a": "nothing.b"}}, r"attach.metadata.a: .* no column 'nothing.b'"),
        ({"tenant": "folded"}, r"attach.tenant: .* nondeterministic collation 'folding'.*ALTER"),
        ({"tenant": "padded"}, r"attach.tenant: 'padded' is character\(8\).*TYPE text"),
        ({"tenant": "meta"}, r"attach.tenant: 'meta' is jsonb"),
        ({"vector": "body"}, r"attach.vector: 'body' is text, not vector or halfvec"),
        ({"text": ("year",)}, r"attach.text\[0\]: 'year' is integer, not text"),
        ({"text": ("body", "words")}, r"attach.text\[1\]: 'words' is a tsvector; name it alone"),
        ({"id": "50%"}, r"attach.id: '50%' holds %"),
        ({"metadata": {"a": "meta.50%"}}, r"attach.metadata.a: 'meta.50%' holds %"),
        ({"text": ()}, r"attach.text: missing"),
        ({"vector": ""}, r"attach.vector: missing"),
    ],
)
async def test_what_does_not_fit_is_told_by_field(
    shop: Shop, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        async with shop.opened(replace(DOCS, **changes)):
            pytest.fail("opened")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimension": 9}, r"'embedding' is vector\(8\) and the questions have 9 numbers"),
        ({"layout": "index"}, "layout: an attached table is one table"),
        ({"options": {"place": {"m": 8}}}, "place.m: an attached table is not built"),
        (
            {"options": {"place": {"metric": "l2"}}},
            r"no index answers <-> \(l2\) .* docs_embedding \(vector_cosine_ops\)",
        ),
        ({"options": {"search": {"tenant_setting": "tenant"}}}, "has no dot"),
    ],
)
async def test_settings_that_do_not_fit_are_told(
    shop: Shop, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        async with shop.opened(**changes):
            pytest.fail("opened")


async def test_every_fault_of_a_mapping_is_told_at_once(shop: Shop) -> None:
    with pytest.raises(InputError) as caught:
        async with shop.opened(Attached("shop.docs", "a", "b", ("c",), "d")):
            pytest.fail("opened")
    assert len(caught.value.faults) == 4


async def test_a_table_that_may_not_be_read_is_refused(shop: Shop, server: Started) -> None:
    await ask(server, "CREATE TABLE shop.hidden AS SELECT * FROM shop.docs")
    with pytest.raises(Refused, match="permission denied for table hidden"):
        async with shop.opened(replace(DOCS, name="shop.hidden")):
            pytest.fail("opened")
    await ask(server, "DROP TABLE shop.hidden")


async def test_conditions_reach_columns_in_their_types(shop: Shop) -> None:
    async with shop.opened(options=EXACT) as adapter:
        for where, count in (
            ({"year": 2021}, 13),
            ({"year": 2021.0}, 13),
            ({"year": "2021"}, 0),
            ({"public": True}, 20),
            ({"public": 1}, 0),
            ({"topic": "t1"}, 10),
            ({"topic": 1}, 0),
            ({"lang": "de"}, 20),
            ({"lang": 7}, 20),
            ({"lang": "7"}, 0),
            ({"lang": "de", "topic": "t1"}, 10),
        ):
            response = await adapter.search(make_query(ACME, where=where, k=100))
            assert len(response.hits) == count, where
        with pytest.raises(Rejected, match=r"where: 'colour' is mapped to no column; mapped: lang"):
            await adapter.search(make_query(ACME, where={"colour": "red"}))


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"vector": "halves"}, {}),
        ({"vector": "anylength"}, {}),
        ({"text": ("words",)}, {}),
        ({"text": ("body", "topic")}, {}),
        ({"tenant": "number"}, {}),
    ],
)
async def test_other_columns_serve_too(
    shop: Shop, changes: dict[str, Any], place: dict[str, Any]
) -> None:
    tenant = TenantId("1") if "tenant" in changes else ACME
    async with shop.opened(replace(DOCS, **changes), options={"place": place}) as adapter:
        for mode in MODES:
            found = uids(await adapter.search(make_query(tenant, mode, k=100)))
            assert found
            assert {uid.partition("/")[0] for uid in found} == {"acme"}, mode
            for other in ("01", "1.0", "nobody", "9" * 40):
                assert not (await adapter.search(make_query(TenantId(other), mode))).hits


async def test_what_weakens_an_attached_table_is_told(shop: Shop, server: Started) -> None:
    async with shop.opened() as adapter:
        told = await adapter.describe()
        assert told.weaknesses == ()
        assert not any(told.slow.values())
        assert told.chunks == {"acme": 40, "globex": 40}
        assert told.settings["index"] == "hnsw"
        assert told.settings["metric"] == "cosine"
        assert any("USING hnsw" in line for line in told.settings["index_definitions"])  # type: ignore[attr-defined]
    await ask(server, "CREATE VIEW shop.seen AS SELECT * FROM shop.docs")
    await ask(server, "CREATE TABLE shop.bare AS SELECT * FROM shop.docs")
    await ask(server, "GRANT SELECT ON shop.seen, shop.bare TO shop_reader")
    off = {"search": {"iterative_scan": "off"}}
    expected = {
        "shop.docs": ["is scanned once"],
        "shop.seen": ["security_invoker"],
        "shop.bare": [],
    }
    for name, lines in expected.items():
        async with shop.opened(replace(DOCS, name=name), options=off) as adapter:
            told = await adapter.describe()
            weaknesses = told.weaknesses
            assert len(weaknesses) == len(lines), weaknesses
            assert all(
                line in weakness for line, weakness in zip(lines, weaknesses, strict=True)
            ), weaknesses
    tenant, words, vector = "no index answers a condition", "no index answers lex", "no approximate"
    of_modes: dict[Mode, list[str]] = {
        "dense": [tenant, vector],
        "lexical": [tenant, words],
        "hybrid": [tenant, words, vector],
    }
    for mode, lines in of_modes.items():
        found = told.slow[mode]
        assert [line[: len(start)] for line, start in zip(found, lines, strict=True)] == lines
    anylength = replace(DOCS, vector="anylength")
    async with shop.opened(anylength, options=EXACT) as adapter:
        assert any("takes vectors of any length" in x for x in (await adapter.describe()).unchecked)
    await ask(server, "DROP VIEW shop.seen; DROP TABLE shop.bare")


async def test_rows_without_owner_vector_or_text_belong_to_nobody(
    shop: Shop, server: Started
) -> None:
    zero = "[0,0,0,0,0,0,0,0]"
    await ask(
        server,
        "CREATE TABLE shop.holes (doc_id int, owner text, body text, embedding vector(8));"
        f"INSERT INTO shop.holes VALUES (1, 'acme', NULL, NULL), (2, 'acme', 'refund', '{zero}'),"
        " (3, NULL, 'refund', '[1,0,0,0,0,0,0,0]'), (4, '', 'refund', '[1,0,0,0,0,0,0,0]'),"
        " (5, 'acme', 'refund', '[1,0,0,0,0,0,0,0]');"
        "GRANT SELECT ON shop.holes TO shop_reader",
    )
    holes = replace(DOCS, name="shop.holes", metadata={})
    for options in (EXACT, {}):
        async with shop.opened(holes, options=options) as adapter:
            assert uids(await adapter.search(make_query(ACME, "dense"))) == ["5"]
            assert uids(await adapter.search(make_query(ACME, "lexical"))) == ["2", "5"]
            assert uids(await adapter.search(make_query(ACME, "hybrid"))) == ["5", "2"]
            assert [hit.uid for hit in await adapter.get(ACME, ["1", "3", "4", "5"])] == ["1", "5"]
            assert (await adapter.describe()).chunks == {"acme": 3, NOBODY: 2}
    await ask(server, "DROP TABLE shop.holes")
