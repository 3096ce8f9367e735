"""Indexes of users, with owners as users keep them: as numbers, and not at all."""

from __future__ import annotations

import os
import runpy
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from engine_support import need_engine
from retrieverbench.adapter import NOBODY, Adapter, ReadsById, Settings
from retrieverbench.errors import InputError
from retrieverbench.model import MODES, Chunk, Query, TenantId
from retrieverbench.run import Connection, Engines, TargetEntry, connect, load_adapter
from retrieverbench.testing import contract_chunks
from retrieverbench.testing.corpus import DIMENSION, vector_of

pytestmark = pytest.mark.anyio
INDEXES = Path(__file__).with_name("indexes")
STORED = [path.stem for path in sorted(INDEXES.glob("*.py")) if path.stem != "http_api"]
"""Those of a store that counts; a service behind HTTP tells no count."""
OTHER_SPELLINGS = ("07", "7.0", "+7", "7e0", "0x7", "\u0667", str(2**63), str(2**70), "seven")


@pytest.fixture(scope="module", params=STORED)
async def connection(request: pytest.FixtureRequest, engines: Engines) -> tuple[str, Connection]:
    need_engine(request.param)
    entry = TargetEntry(request.param, name="x", engine="embedded", modes=("lexical",))
    return request.param, await connect(entry, os.environ, engines)


def bound(
    connection: tuple[str, Connection],
    chunks: list[Chunk],
    owner: Callable[[str], object],
    *,
    swapped: bool = False,
) -> AbstractAsyncContextManager[Adapter]:
    """The adapter, on an index that a user made of these chunks; `swapped`: ids are owners."""
    name, server = connection

    @asynccontextmanager
    async def opening() -> AsyncIterator[Adapter]:
        cls = load_adapter(name).cls
        make = runpy.run_path(str(INDEXES / f"{name}.py"))["make"]
        async with make(server, chunks, owner) as index:
            fields = index.fields
            if swapped:
                fields = replace(fields, id=fields.tenant, tenant=fields.id)
            settings = Settings(
                index.endpoint or server.endpoint,
                "",
                frozenset(mode for mode in MODES if mode in cls.capabilities),
                dimension=DIMENSION,
                options=index.options or {},
                secrets=index.secrets or server.secrets,
                attached=fields,
            )
            adapter = await cls.open(settings)
            try:
                yield adapter
            finally:
                await adapter.close()

    return opening()


async def test_tenants_that_are_numbers_find_their_own_by_these_digits_alone(
    connection: tuple[str, Connection],
) -> None:
    chunks = contract_chunks(["7", "70", "-7", "0"])
    async with bound(connection, chunks, int) as adapter:
        described = await adapter.describe()
        assert described.chunks == dict.fromkeys(("7", "70", "-7", "0"), 14)
        assert not [line for line in described.weaknesses if "exact" in line or "no vec" in line]
        assert isinstance(adapter, ReadsById)
        modes = [mode for mode in MODES if mode in adapter.capabilities]
        for tenant in ("7", "70", "-7", "0", *OTHER_SPELLINGS):
            own = {chunk.uid for chunk in chunks if chunk.tenant.value == tenant}
            uids = [chunk.uid for chunk in chunks]
            assert {hit.uid for hit in await adapter.get(TenantId(tenant), uids)} == own
            for mode in modes:
                text = chunks[0].text
                query = Query(text, TenantId(tenant), 100, mode, vector_of(text))
                hits = (await adapter.search(query)).hits
                assert {hit.uid for hit in hits} <= own, (tenant, mode)
                assert bool(hits) == bool(own), (tenant, mode)
                assert {hit.tenant for hit in hits} <= {tenant}


async def test_chunks_without_an_owner_or_a_vector_are_counted(
    connection: tuple[str, Connection],
) -> None:
    chunks = contract_chunks(["acme", "globex"])

    def owner(tenant: str) -> str | None:
        return None if tenant == "globex" else tenant

    chunks[1] = replace(chunks[1], vector=None)
    async with bound(connection, chunks, owner) as adapter:
        described = await adapter.describe()
    assert described.chunks == {"acme": 14, NOBODY: 14}
    told = [line for line in described.weaknesses if "has no vector in" in line]
    assert len(told) == (connection[0] != "azure_search"), "there a vector cannot be asked for"


async def test_chunks_without_an_id_are_counted_and_refused(
    connection: tuple[str, Connection],
) -> None:
    """No answer could be judged: the hit would be nobody's."""
    if connection[0] == "elasticsearch":
        return  # every document has the `_id` that this index is mapped by; opensearch's has not
    chunks = contract_chunks(["acme", "globex"])

    def owner(tenant: str) -> str | None:
        return None if tenant == "globex" else tenant

    with pytest.raises(
        InputError, match=r"attach\.id: .*14 .*hold nothing in '.*no id.*attach\.id"
    ):
        async with bound(connection, chunks, owner, swapped=True):
            pass


async def test_documents_of_several_owners_are_told(connection: tuple[str, Connection]) -> None:
    if "HOLDS_LISTS" not in runpy.run_path(str(INDEXES / f"{connection[0]}.py")):
        return  # a column has one value: there is nothing to be told
    chunks = contract_chunks(["acme", "globex"])

    def owner(tenant: str) -> str | list[str]:
        return tenant if tenant == "acme" else [tenant, "acme"]

    async with bound(connection, chunks, owner) as adapter:
        described = await adapter.describe()
    assert described.chunks == {"acme": 28, "globex": 14}
    assert any("several owners in " in line for line in described.weaknesses)
