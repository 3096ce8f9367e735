"""Layout `rls`: the server adds the tenant's condition, for a role that it binds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import anyio
import pytest

from pgvector_attach_support import DOCS, Shop, shop_on
from pgvector_support import (
    ACME,
    EXACT,
    GLOBEX,
    ask,
    connect,
    loaded,
    make_chunks,
    make_query,
    needs_server,
    uids,
)
from retrieverbench.adapter import Secret
from retrieverbench.engines import Started
from retrieverbench.errors import InputError, Refused, TimedOut
from retrieverbench.model import MODES, TenantId
from retrieverbench_adapters.pgvector import Pgvector

pytestmark = [pytest.mark.anyio, needs_server]

CHUNKS = [*make_chunks(ACME, 20), *make_chunks(GLOBEX, 20)]
RLS: dict[str, Any] = {"layout": "rls"}


async def seen(adapter: Pgvector, *statements: str) -> list[object]:
    """The first column of the last statement, on a connection that searches."""
    async with adapter._searchers.take() as connection:
        for statement in statements:
            cursor = await connection.execute(statement.encode())
        return [row[0] for row in await cursor.fetchall()]


async def test_the_role_is_bound_and_goes_with_the_place(server: Started) -> None:
    roles = "SELECT rolname, rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname "
    async with loaded(server, CHUNKS, **RLS) as adapter:
        assert await ask(server, f"{roles} ~ '^rb_'") == [("rb_test_search", False, False, False)]
        told = await adapter.describe()
        assert told.settings["row_security"] == "forced"
        assert told.settings["role_skips_row_security"] is False
        assert told.chunks == {"acme": 20, "globex": 20}
        assert told.weaknesses == ()
    assert await ask(server, f"{roles} ~ '^rb_'") == []


async def test_without_the_variable_nothing_is_seen(server: Started) -> None:
    count = "SELECT count(*) FROM rb_test.chunks"
    name = "retrieverbench.tenant"
    async with loaded(server, CHUNKS, concurrency=1, **RLS) as adapter:
        assert await seen(adapter, count) == [0]
        assert (await adapter.search(make_query(ACME))).hits
        assert await seen(adapter, count) == [0]
        assert await seen(adapter, f"SELECT current_setting('{name}')") == [""]
        assert await seen(adapter, f"SET {name} = 'acme'", count) == [20]
        await seen(adapter, "RESET ALL", "SELECT 1")
        for word in ("DELETE FROM rb_test.chunks",
                     "SELECT * FROM rb_test.incoming", "SET ROLE postgres"):  # fmt: skip
            with pytest.raises(Exception, match="permission denied"):
                await seen(adapter, word)


async def test_a_cancelled_question_leaves_no_variable_behind(server: Started) -> None:
    chunks = [*make_chunks(ACME, 1_000), *make_chunks(GLOBEX, 1_000)]
    options = {**EXACT, "place": {"index": "none"}}
    async with loaded(server, chunks, options=options, concurrency=1, **RLS) as adapter:
        query = make_query(ACME, "hybrid", k=1_000)
        expected = await adapter.search(query)
        for number in range(12):
            delay = number * 0.002
            foreign = adapter.search(make_query(GLOBEX, "hybrid", k=1_000))
            if number % 2:
                with anyio.move_on_after(delay):
                    await foreign
            else:
                with suppress(TimeoutError):
                    await asyncio.wait_for(foreign, delay or 0.0001)
            assert await seen(adapter, "SELECT count(*) FROM rb_test.chunks") == [0]
            assert await adapter.search(query) == expected


async def test_a_timeout_is_one_error_and_the_next_answer_is_right(server: Started) -> None:
    async with loaded(server, CHUNKS, timeout=0.3, concurrency=1, **RLS) as adapter:
        async with await connect(server) as lock:
            await lock.execute("LOCK TABLE rb_test.chunks")
            with pytest.raises(TimedOut, match="canceling statement due to statement timeout"):
                await adapter.search(make_query(ACME))
            await lock.rollback()
        assert set(uids(await adapter.search(make_query(ACME, k=50)))) == {
            chunk.uid for chunk in CHUNKS[:20]
        }


async def test_a_role_of_the_users_is_used_and_stays(server: Started) -> None:
    await ask(server, "CREATE ROLE app_reader LOGIN PASSWORD 'sesame'")
    secrets = {
        **server.secrets,
        "search_user": Secret("app_reader"),
        "search_password": Secret("sesame"),
    }
    async with loaded(server, CHUNKS, secrets=secrets, **RLS) as adapter:
        assert await seen(adapter, "SELECT current_user") == ["app_reader"]
        assert len((await adapter.search(make_query(ACME, k=50))).hits) == 20
    await ask(server, "DROP ROLE app_reader")


@pytest.mark.parametrize(
    ("rights", "word"), [("SUPERUSER", "is a superuser"), ("BYPASSRLS", "is BYPASSRLS")]
)
async def test_a_role_that_no_policy_binds_is_told(server: Started, rights: str, word: str) -> None:
    await ask(server, f"CREATE ROLE app_reader LOGIN {rights} PASSWORD 'sesame'")
    secrets = {
        **server.secrets,
        "search_user": Secret("app_reader"),
        "search_password": Secret("sesame"),
    }
    async with loaded(server, CHUNKS, secrets=secrets, **RLS) as adapter:
        assert word in (await adapter.describe()).weaknesses[0]
        owners = {uid.partition("/")[0] for uid in uids(await adapter.search(make_query(ACME)))}
        assert owners == {"acme", "globex"}, "it must leak, or the weakness is none"
    await ask(server, "DROP ROLE app_reader")


async def test_half_a_role_is_refused(server: Started) -> None:
    secrets = {**server.secrets, "search_user": Secret("app_reader")}
    with pytest.raises(InputError, match="'search_user' is given alone"):
        async with loaded(server, CHUNKS, secrets=secrets, **RLS):
            pytest.fail("opened")
    secrets["search_password"] = Secret("x")
    with pytest.raises(InputError, match="for layout rls only"):
        async with loaded(server, CHUNKS, secrets=secrets):
            pytest.fail("opened")


async def test_a_role_that_may_not_make_roles_is_told_what_to_do(server: Started) -> None:
    await ask(
        server,
        "CREATE ROLE app_owner LOGIN PASSWORD 'sesame';"
        "GRANT CREATE ON DATABASE postgres TO app_owner",
    )
    secrets = {"user": Secret("app_owner"), "password": Secret("sesame")}
    with pytest.raises(Refused, match="grant it CREATEROLE, or name a role by search_user"):
        async with loaded(server, CHUNKS, secrets=secrets, **RLS):
            pytest.fail("opened")
    assert await ask(server, "SELECT 1 FROM pg_namespace WHERE nspname = 'rb_test'") == []
    await ask(server, "REVOKE CREATE ON DATABASE postgres FROM app_owner; DROP ROLE app_owner")


async def test_an_owner_without_superuser_can_load_and_remove(server: Started) -> None:
    """A role that may make schemas and roles is enough."""
    await ask(
        server,
        "CREATE ROLE app_owner LOGIN CREATEROLE PASSWORD 'sesame';"
        "GRANT CREATE ON DATABASE postgres TO app_owner",
    )
    secrets = {"user": Secret("app_owner"), "password": Secret("sesame")}
    async with loaded(server, CHUNKS, secrets=secrets, **RLS) as adapter:
        assert (await adapter.describe()).chunks == {"acme": 20, "globex": 20}
        assert (await adapter.describe()).weaknesses == ()
        for mode in MODES:
            found = uids(await adapter.search(make_query(ACME, mode, k=50)))
            assert found
            assert all(uid.startswith("acme/") for uid in found)
    await ask(server, "REVOKE CREATE ON DATABASE postgres FROM app_owner; DROP ROLE app_owner")


@pytest.fixture(scope="module")
async def shop(server: Started) -> AsyncIterator[Shop]:
    async with shop_on(server) as made:
        yield made


@asynccontextmanager
async def policies(server: Started, *statements: str) -> AsyncIterator[None]:
    for statement in statements:
        await ask(server, statement)
    try:
        yield
    finally:
        await ask(server, "DROP POLICY IF EXISTS mine ON shop.docs")
        await ask(server, "DROP POLICY IF EXISTS all_of_it ON shop.docs")
        await ask(server, "ALTER TABLE shop.docs DISABLE ROW LEVEL SECURITY")


ENABLE = "ALTER TABLE shop.docs ENABLE ROW LEVEL SECURITY"
POLICY = (
    "CREATE POLICY mine ON shop.docs USING (owner = nullif(current_setting('app.who', true), ''))"
)
WHO = {"search": {"tenant_setting": "app.who"}}


async def test_policies_of_an_attached_table_part_the_tenants(shop: Shop, server: Started) -> None:
    async with policies(server, ENABLE, POLICY), shop.opened(options=WHO, **RLS) as adapter:
        for mode in MODES:
            found = uids(await adapter.search(make_query(GLOBEX, mode, k=100)))
            assert found
            assert all(uid.startswith("globex/") for uid in found)
        told = await adapter.describe()
        assert told.chunks == {}
        assert any("rows per tenant" in line for line in told.unchecked)
        assert told.weaknesses == ()
        (line,) = told.slow["lexical"]
        assert "no index answers lexical search" in line
        assert "not leakproof" in line


STRICT = "CREATE POLICY mine ON shop.docs USING (owner = current_setting('app.who'))"


async def test_a_policy_that_raises_without_its_variable_is_closed_to_all(
    shop: Shop, server: Started
) -> None:
    """As most are written. It must not break what asks the server before the first question."""
    async with policies(server, ENABLE, STRICT):
        async with shop.opened(options=WHO, **RLS) as adapter:
            for tenant in (ACME, GLOBEX):
                found = uids(await adapter.search(make_query(tenant, "hybrid", k=100)))
                assert {uid.partition("/")[0] for uid in found} == {tenant.value}
            assert (await adapter.describe()).weaknesses == ()
        for changes, word in (({}, "unrecognized .*app.who"), (RLS, "app.who, and the target")):
            with pytest.raises(InputError, match=word):
                async with shop.opened(**changes):
                    pass


async def test_a_layout_or_variable_that_hides_every_row_is_refused(
    shop: Shop, server: Started
) -> None:
    """It would find nothing, and seem to be a fault of the mapping."""
    other: dict[str, Any] = {"search": {"tenant_setting": "app.other"}}
    told = "sees no row of shop.docs: .*policy 'mine': .*use layout = 'rls' with .* = 'app.who'"
    wrong = (
        "search.tenant_setting: policy 'mine' of .* reads app.who, and the target sets app.other"
    )
    async with policies(server, ENABLE, POLICY):
        for changes, word in (({}, told), ({"options": other, **RLS}, wrong)):
            with pytest.raises(InputError, match=word):
                async with shop.opened(**changes):
                    pass
        above = {**shop.server.secrets}
        async with shop.opened(options=WHO, secrets=above, **RLS) as adapter:
            lines = (await adapter.describe()).weaknesses
            assert any("is a superuser" in line for line in lines)
            assert not any("absent or empty" in line for line in lines), "it sees rows anyway"


async def test_a_policy_that_casts_its_variable(shop: Shop, server: Started) -> None:
    policy = "CREATE POLICY mine ON shop.docs USING (number = current_setting('app.who')::int)"
    numbers = replace(DOCS, tenant="number")
    async with (
        policies(server, ENABLE, policy),
        shop.opened(numbers, options=WHO, **RLS) as adapter,
    ):
        found = uids(await adapter.search(make_query(TenantId("2"), "hybrid", k=100)))
        assert {uid.partition("/")[0] for uid in found} == {"globex"}
        assert (await adapter.describe()).weaknesses == ()


def weak_policies() -> Iterator[tuple[list[str], str]]:
    yield [], "row-level security is not enabled on shop.docs"
    yield [ENABLE, POLICY, "CREATE POLICY all_of_it ON shop.docs USING (true)"], "'all_of_it' lets"
    other = POLICY.replace("app.who", "app.other").replace("mine", "all_of_it")
    yield [ENABLE, POLICY, other], "'all_of_it' reads app.other, the target sets app.who: set "
    administrator = "CREATE POLICY all_of_it ON shop.docs USING (current_setting('app.who', true) "
    for condition in ("IS NULL)", "= '')"):
        yield [ENABLE, POLICY, administrator + condition], "rows are shown all the same"


@pytest.mark.parametrize(("statements", "word"), list(weak_policies()))
async def test_policies_that_part_nobody_are_told(
    shop: Shop, server: Started, statements: list[str], word: str
) -> None:
    async with policies(server, *statements), shop.opened(options=WHO, **RLS) as adapter:
        assert any(word in line for line in (await adapter.describe()).weaknesses)


async def test_an_unforced_owner_is_told(shop: Shop, server: Started) -> None:
    await ask(server, "ALTER TABLE shop.docs OWNER TO shop_reader")
    async with policies(server, ENABLE, POLICY), shop.opened(DOCS, options=WHO, **RLS) as adapter:
        told = (await adapter.describe()).weaknesses
        assert any("owns shop.docs" in line and "FORCE ROW LEVEL" in line for line in told)
        await ask(server, "ALTER TABLE shop.docs FORCE ROW LEVEL SECURITY")
        assert not any("owns" in line for line in (await adapter.describe()).weaknesses)
        await ask(server, "ALTER TABLE shop.docs NO FORCE ROW LEVEL SECURITY")
    await ask(server, "ALTER TABLE shop.docs OWNER TO postgres")
