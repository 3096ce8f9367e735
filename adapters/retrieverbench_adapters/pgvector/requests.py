"""Sends statements, and shows each to the recorder if there is one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from anyio import CancelScope
from psycopg.sql import Composable

from retrieverbench.adapter import Leg, Recorder
from retrieverbench_adapters.pgvector.connections import Connection
from retrieverbench_adapters.pgvector.statements import Statement
from retrieverbench_adapters.pgvector.table import Parameters, Table

Row = tuple[Any, ...]
SET_LOCALLY = "SELECT set_config(%s, %s, true)"


@dataclass(frozen=True, slots=True)
class TenantVariable:
    """What a policy reads: set for one transaction, together with the question asked in it."""

    name: str
    tenant: str


@dataclass(frozen=True, slots=True)
class Sender:
    """Every statement of the adapter goes through here; without a recorder it costs nothing."""

    recorder: Recorder | None

    async def execute(
        self,
        connection: Connection,
        operation: str,
        statement: str | Composable,
        parameters: Mapping[str, object] | Sequence[object] | None = None,
        *,
        legs: Sequence[Leg] = (),
        shown: str = "",
    ) -> list[Row]:
        """The rows of an ordinary statement; `shown` stands for one that holds a credential."""
        text = statement if isinstance(statement, str) else statement.as_string()
        async with self.recorded(connection, operation, shown or text, parameters, legs) as found:
            cursor = await connection.execute(text.encode(), parameters)
            found.extend(await cursor.fetchall() if cursor.description else [])
        return found

    async def ask(
        self,
        connection: Connection,
        operation: str,
        statement: Statement,
        parameters: Parameters,
        table: Table,
        variable: TenantVariable | None,
    ) -> list[Row]:
        """The rows of a question, prepared on this connection and answered in binary.

        With `variable` a policy of the server adds the tenant's condition. The variable and
        the question are one pipeline, hence one transaction: were they ever parted, the
        variable would be empty and nothing would be found.
        """
        if self.recorder is None:
            return await _asked(connection, statement.sql, parameters, variable)
        legs = [
            Leg(path, shown_condition(table, c, parameters, variable)) for path, c in statement.legs
        ]
        text = statement.sql.decode()
        bound: Parameters = dict(parameters)
        if variable is not None:
            text, bound = f"{SET_LOCALLY}; {text}", {**bound, variable.name: variable.tenant}
        async with self.recorded(connection, operation, text, bound, legs, prepared=True) as found:
            found.extend(await _asked(connection, statement.sql, parameters, variable))
        return found

    @asynccontextmanager
    async def recorded(
        self,
        connection: Connection,
        operation: str,
        text: str,
        parameters: Mapping[str, object] | Sequence[object] | None,
        legs: Sequence[Leg] = (),
        *,
        prepared: bool = False,
    ) -> AsyncIterator[list[Row]]:
        """Show what is sent before it is, and the rows that were put into the list after."""
        rows: list[Row] = []
        if self.recorder is None:
            yield rows
            return
        body = {
            "statement": text,
            "parameters": plain(parameters),
            "connection": connection.info.backend_pid,
            "prepared": prepared,
        }
        self.recorder.request(operation, legs, body)
        try:
            yield rows
        except psycopg.Error as error:
            told = {name: getattr(error.diag, name) for name in _TOLD}
            self.recorder.response(operation, {"error": {**told, "text": str(error)}})
            raise
        self.recorder.response(operation, {"rows": [plain(row) for row in rows]})


_TOLD = ("sqlstate", "message_primary", "message_detail", "message_hint", "context")


async def _asked(
    connection: Connection, sql: bytes, parameters: Parameters, variable: TenantVariable | None
) -> list[Row]:
    if variable is None:
        cursor = await connection.execute(sql, parameters, prepare=True, binary=True)
        return await cursor.fetchall()
    # The driver's way out of a pipeline asks the server itself, and must not be cut short by a
    # scope that cancels every step again; the server's own deadline ends the question.
    with CancelScope(shield=True):
        async with connection.pipeline():
            await connection.execute(SET_LOCALLY, [variable.name, variable.tenant], prepare=True)
            cursor = await connection.execute(sql, parameters, prepare=True, binary=True)
    return await cursor.fetchall()


def shown_condition(
    table: Table, condition: str, parameters: Parameters, variable: TenantVariable | None
) -> dict[str, object]:
    """What restricts a leg: its own condition, and what the server adds to it.

    `kept_by` says who keeps the tenants apart: the query, a policy, or the table itself.
    """
    barrier = f"({table.barrier}) AND " if table.barrier else ""
    bound = {k: v for k, v in parameters.items() if f"%({k})s" in condition}
    if table.only:
        bound["tenant"] = table.only
    if variable is not None:
        bound[variable.name] = variable.tenant
    return {"sql": f"{barrier}{condition}", "parameters": plain(bound), "kept_by": table.boundary}


def plain(value: object) -> object:
    """As JSON holds it; other types as their text."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return str(value)
