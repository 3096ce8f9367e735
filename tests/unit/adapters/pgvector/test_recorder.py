"""What a recorder is shown: every statement, and the condition of each leg."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pgvector_attach_support import Log
from pgvector_support import (
    ACME,
    GLOBEX,
    connect,
    loaded,
    make_chunks,
    make_query,
    needs_server,
)
from retrieverbench.adapter import Leg
from retrieverbench.engines import Started
from retrieverbench.errors import RetrieverBenchError
from retrieverbench.model import MODES, Layout, Mode

pytestmark = [pytest.mark.anyio, needs_server]

LAYOUTS: tuple[Layout, ...] = ("filter", "partition", "index", "rls")
CHUNKS = [*make_chunks(ACME, 5, metadata={"year": 2020}), *make_chunks(GLOBEX, 5)]
LEGS: dict[Mode, list[str]] = {
    "dense": ["dense"],
    "lexical": ["lexical"],
    "hybrid": ["dense", "lexical"],
}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_every_leg_has_a_condition_that_is_true_for_own_rows_alone(
    server: Started, layout: Layout
) -> None:
    """Judged by meaning: the server evaluates the shown condition over rows of its own."""
    log = Log()
    async with loaded(server, CHUNKS, layout=layout, recorder=log) as adapter:
        for mode in MODES:
            log.requests.clear()
            await adapter.search(make_query(ACME, mode, want=frozenset({"total"})))
            search, total = log.requests
            assert [leg.path for leg in search[1]] == LEGS[mode]
            assert [leg.path for leg in total[1]] == ["total"]
            assert (search[0], total[0]) == ("search", "total")
            for leg in (*search[1], *total[1]):
                assert await selected(server, leg) == ["acme"]
        await adapter.get(ACME, ["acme/c000"])
        await adapter.delete(ACME, ["acme/c000"])
        await adapter.move("acme/c001", ACME, GLOBEX)
        for operation, legs, _ in log.requests[-5:]:
            assert operation in {"get", "delete", "move"}
            for leg in legs:
                assert await selected(server, leg) == ["acme"]


async def selected(server: Started, leg: Leg) -> list[str]:
    """The owners of the rows under a leg's condition, among rows of all sorts of owners."""
    condition: Any = leg.condition
    variables = [name for name in condition["parameters"] if "." in name]
    async with await connect(server) as connection:
        for name in variables:
            value = condition["parameters"][name]
            await connection.execute("SELECT set_config(%s, %s, true)", [name, value])
        cursor = await connection.execute(
            "SELECT tenant FROM (VALUES ('acme'), ('ACME'), ('acme '), ('acme-corp'), ('globex'), "
            f"(''), (NULL), ('null'), ('%%')) AS t (tenant) WHERE {condition['sql']}".encode(),
            {key: v for key, v in condition["parameters"].items() if key not in variables},
        )
        return [row[0] for row in await cursor.fetchall()]


async def test_the_statement_holds_the_conditions_that_are_shown(server: Started) -> None:
    log = Log()
    async with loaded(server, CHUNKS, recorder=log, concurrency=1) as adapter:
        log.requests.clear()
        log.responses.clear()
        response = await adapter.search(make_query(ACME, "hybrid", where={"year": 2020}))
        ((_, legs, body),) = log.requests
        ((_, answered),) = log.responses
        assert body["prepared"] is True
        assert isinstance(body["connection"], int)
        for leg in legs:
            condition: Any = leg.condition
            assert condition["kept_by"] == "query"
            assert f"WHERE {condition['sql']}" in body["statement"]
            assert condition["parameters"] == {"tenant": "acme", "key0": "year", "value0": "2020"}
        assert body["statement"].count('WHERE "t"') == len(legs)
        assert [row[0] for row in answered["rows"]] == [hit.uid for hit in response.hits]
        json.dumps([body, answered])


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_no_credential_is_shown(server: Started, layout: Layout) -> None:
    log = Log()
    async with loaded(server, CHUNKS, layout=layout, recorder=log) as adapter:
        await adapter.describe()
        assert adapter._own is not None
        hidden = [adapter._own.role["password"].reveal(), server.secrets["password"].reveal()]
    shown = json.dumps([log.responses, [body for _, _, body in log.requests]])
    assert not any(secret in shown for secret in hidden)
    assert "SCRAM" not in shown
    assert ("PASSWORD '***'" in shown) is (layout == "rls")
    operations = {operation for operation, _, _ in log.requests}
    assert operations >= {"open", "put", "settle", "describe", "close"}


async def test_errors_are_shown_as_they_came(server: Started) -> None:
    log = Log()
    options = {"search": {"work_mem": "64MB"}}
    async with loaded(server, CHUNKS, options=options, recorder=log, concurrency=1) as adapter:
        async with await connect(server) as other:
            await other.execute("ALTER TABLE rb_test.chunks RENAME COLUMN text TO gone")
            await other.commit()
            with pytest.raises(RetrieverBenchError):
                await adapter.search(make_query(ACME, want=frozenset({"text"})))
        assert log.responses[-1][1]["error"]["sqlstate"] == "42703"
        assert "t.text" in log.responses[-1][1]["error"]["message_primary"]
