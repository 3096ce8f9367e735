"""What the role that searches can see of the rows of a user's table."""

from __future__ import annotations

from typing import Any

from psycopg.errors import DataError, QueryCanceled, UndefinedObject
from psycopg.sql import SQL, Composed

from retrieverbench.adapter import Attached
from retrieverbench.errors import InputError
from retrieverbench.remote import unnamed_fault
from retrieverbench_adapters.pgvector.catalog import Catalog
from retrieverbench_adapters.pgvector.connections import Connection
from retrieverbench_adapters.pgvector.requests import SET_LOCALLY, Sender
from retrieverbench_adapters.pgvector.table import Table


def check_variable(found: Catalog, setting: str) -> None:
    """Where every policy reads other variables, setting this one lets nobody read anything."""
    permissive = [policy for policy in found.policies if policy.permissive]
    read = [variable for policy in permissive for variable in sorted(policy.variables)]
    if not found.secured or setting in read or not all(each.variables for each in permissive):
        return
    if permissive:
        raise InputError(
            f"pgvector: search.tenant_setting: policy {permissive[0].name!r} of {found.name} reads "
            f"{read[0]}, and the target sets {setting}; set search.tenant_setting = {read[0]!r}"
        )


async def check_visible(
    sender: Sender, connection: Connection, table: Table, found: Catalog
) -> None:
    """InputError where policies hide every row from a role that names no tenant to them."""
    seen = SQL("SELECT EXISTS (SELECT 1 FROM {} AS t)").format(table.relation)
    if await _sees(sender, connection, seen):
        return
    policies = ", ".join(f"policy {p.name!r}: {p.condition:.120}" for p in found.policies)
    variables = sorted(variable for policy in found.policies for variable in policy.variables)
    named = f" with search.tenant_setting = {variables[0]!r}" if variables else ""
    raise InputError(
        f"pgvector: attach.name: role {found.role!r} sees no row of {found.name}: row-level "
        f"security binds it ({policies or 'no policy lets it read'}); use layout = 'rls'{named}, "
        "or a role that may read all tenants"
    )


async def all_named(
    sender: Sender, connection: Connection, table: Table, attached: Attached
) -> bool:
    """Whether every row with an owner was found to have an id; InputError when some have none.

    False where that takes too long, or a policy cannot be evaluated.
    """
    unnamed = await _within_seconds(
        sender,
        connection,
        SQL(
            "SELECT {0}::text, count(*) FROM {1} AS t WHERE coalesce({2}, '') = '' "
            "AND {0} IS NOT NULL GROUP BY 1 ORDER BY 2"
        ).format(table.tenant, table.relation, table.uid),
    )
    if unnamed is None:
        return False
    if unnamed:
        owner, most = unnamed[-1]
        count = sum(number for _, number in unnamed)
        shown = f"{most} of {owner!r}: WHERE coalesce({attached.id}::text, '') = ''"
        raise InputError(f"pgvector: {unnamed_fault(attached.id, count, 'row', shown)}")
    return True


async def without_vector(sender: Sender, connection: Connection, table: Table) -> int:
    """Rows that dense search never finds; 0 where it is not asked, or that takes too long."""
    if table.vector is None:
        return 0
    count = SQL("SELECT count(*) FROM {} AS t WHERE {} IS NULL")
    statement = count.format(table.relation, table.vector)
    rows = await _within_seconds(sender, connection, statement)
    return int(rows[0][0]) if rows else 0


async def _within_seconds(
    sender: Sender, connection: Connection, statement: Composed
) -> list[tuple[Any, ...]] | None:
    """Its rows; None where it takes more than two seconds, or a policy cannot be evaluated."""
    try:
        async with connection.transaction(force_rollback=True):
            await sender.execute(connection, "attach", SET_LOCALLY, ["statement_timeout", "2s"])
            return list(await sender.execute(connection, "attach", statement))
    except (QueryCanceled, UndefinedObject, DataError):
        return None


async def open_to_all(
    sender: Sender, connection: Connection, table: Table, setting: str
) -> bool | None:
    """Whether a row is seen with the variable absent, or empty; None if that takes too long.

    The connection has never set it. After a transaction that did, it would be empty.
    """
    seen = SQL("SELECT EXISTS (SELECT 1 FROM {} AS t)").format(table.relation)
    try:
        async with connection.transaction(force_rollback=True):
            await sender.execute(connection, "attach", SET_LOCALLY, ["statement_timeout", "2s"])
            absent = await _sees(sender, connection, seen)
            await sender.execute(connection, "attach", SET_LOCALLY, [setting, ""])
            empty = await _sees(sender, connection, seen)
    except QueryCanceled:
        return None
    return absent or empty


async def _sees(sender: Sender, connection: Connection, seen: Composed) -> bool:
    """Whether there is a row. A policy that cannot be evaluated shows none.

    So does the usual one, `owner = current_setting('app.tenant')::uuid`: it raises where the
    variable is absent, and where it is empty.
    """
    try:
        async with connection.transaction():
            rows = await sender.execute(connection, "attach", seen)
    except (UndefinedObject, DataError):
        return False
    return bool(rows[0][0])
