"""The plan of a question, by the route that `search` takes: the connection's own statement."""

from __future__ import annotations

import re
from collections.abc import Sequence

from psycopg.sql import SQL, Composed, Identifier
from psycopg.sql import Literal as Quoted

from retrieverbench.errors import Unsupported
from retrieverbench.model import Plan
from retrieverbench_adapters.pgvector.connections import Connection
from retrieverbench_adapters.pgvector.options import Search
from retrieverbench_adapters.pgvector.plans import read_plan
from retrieverbench_adapters.pgvector.requests import SET_LOCALLY, Row, Sender, TenantVariable
from retrieverbench_adapters.pgvector.statements import Statement
from retrieverbench_adapters.pgvector.table import Parameters

_FIND = "SELECT name FROM pg_prepared_statements WHERE statement = %(statement)s::text"
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


async def explain(
    sender: Sender,
    connection: Connection,
    statement: Statement,
    parameters: Parameters,
    variable: TenantVariable | None,
    search: Search,
    *,
    tenant: str,
    tables: Sequence[str],
) -> Plan:
    """Explain the execution of the statement that this connection has just prepared.

    A statement explained by itself would always show a custom plan, where the prepared one
    may have gone over to a generic plan. Raises Unsupported when the server no longer has it,
    as behind a pooler that gives each statement another connection.
    """
    sql, names = _numbered(statement.sql.decode())
    found = await sender.execute(connection, "explain", _FIND, {"statement": sql})
    if not found:
        raise Unsupported(
            "pgvector: explain: the prepared statement is not on this connection; "
            "connect to the server itself, not to a pooler"
        )
    values = SQL(", ").join(Quoted(parameters[name]) for name in names)
    execute = SQL("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {}({})").format(
        Identifier(found[0][0]), values
    )
    rows = await _explained(sender, connection, execute, variable)
    return read_plan(
        rows[0][0][0]["Plan"],
        tenant=tenant,
        iterative=search.iterative_scan != "off",
        tables=tables,
        caveat=_caveat(search),
    )


def _numbered(sql: str) -> tuple[str, list[str]]:
    """The statement as the driver sends it, and its parameters in that order."""
    names = list(dict.fromkeys(_PLACEHOLDER.findall(sql)))
    return _PLACEHOLDER.sub(lambda found: f"${names.index(found[1]) + 1}", sql), names


async def _explained(
    sender: Sender, connection: Connection, execute: Composed, variable: TenantVariable | None
) -> list[Row]:
    text = execute.as_string(connection)
    async with connection.transaction():
        if variable is not None:
            set_it = [variable.name, variable.tenant]
            await sender.execute(connection, "explain", SET_LOCALLY, set_it)
        return await sender.execute(connection, "explain", text)


def _caveat(search: Search) -> str:
    if search.plan_cache_mode == "force_custom_plan":
        return ""
    return (
        f"plan_cache_mode = {search.plan_cache_mode}: other connections, and later executions on "
        "this one, may follow another plan"
    )
