"""From open to close, against a real server with pgvector."""

from __future__ import annotations

import math
from array import array
from dataclasses import replace

import pytest

from pgvector_support import (
    ACME,
    DIMENSION,
    EXACT,
    ask,
    loaded,
    make_chunks,
    make_query,
    needs_server,
    opened,
    settings_for,
    uids,
)
from retrieverbench.adapter import Writable
from retrieverbench.engines import Started
from retrieverbench.errors import Rejected, Unavailable
from retrieverbench_adapters.pgvector import Pgvector
from retrieverbench_adapters.pgvector.table import schema_name

pytestmark = [pytest.mark.anyio, needs_server]


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
