"""The pgvector adapter with one fault each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from psycopg.sql import SQL, Composed

import retrieverbench_adapters.pgvector as package
from faulty_support import faulty, original
from retrieverbench.model import Query, TenantId
from retrieverbench_adapters.pgvector import Pgvector, requests, statements, table

ALL = Composed([SQL("true")])
lexical_leg = original(statements, "_lexical_leg")
search_statement = original(package, "search_statement")
tenant_predicate = original(table, "tenant_predicate")


def leg_without_condition(one: table.Table, options: Any, _: Composed, **more: bool) -> Any:
    return lexical_leg(one, options, ALL, **more)


def filter_outside(one: table.Table, options: Any, _: Composed, query: Query) -> Any:
    """The k best of all tenants, and of those the tenant's own."""
    found = search_statement(one, options, ALL, query)
    sql = b"SELECT * FROM (" + found.sql + b") AS found WHERE tenant = %(tenant)s"
    return replace(found, sql=sql)


def written_literal(_: table.Table, tenant: TenantId) -> tuple[Composed, dict[str, object]]:
    return Composed([SQL(f"t.tenant = '{tenant.value}'")]), {}


def user_or_tenant(one: table.Table, query: Query) -> tuple[Composed, dict[str, object]]:
    """Both conditions side by side, and a user's own operator between them."""
    condition, parameters = tenant_predicate(one, query.tenant)
    for number, (key, value) in enumerate(query.where.items()):
        equality, bound = table._user_condition(one, number, key, value)
        condition, parameters = SQL("{} OR {}").format(condition, equality), parameters | bound
    return condition, parameters


def any_tenant(tenant: object) -> str:
    """Whoever asks without a name is not refused."""
    value = getattr(tenant, "value", None)
    return value if isinstance(value, str) else ""


async def set_for_session(
    connection: Any, sql: bytes, parameters: table.Parameters, variable: Any
) -> list[Any]:
    """SET where SET LOCAL should be, and only for those who have a name."""
    if variable.tenant:
        keep = "SELECT set_config(%s, %s, false)"
        await connection.execute(keep, [variable.name, variable.tenant])
    cursor = await connection.execute(sql, parameters, binary=True)
    return list(await cursor.fetchall())


def new_statement(self: Any, one: table.Table, query: Query) -> Any:
    """A literal is part of the statement's text, which cannot be kept for others then."""
    self._statements.clear()
    return Pgvector._question(self, one, query)


UNCHECKED = {(package, "checked_tenant"): any_tenant, (table, "checked_tenant"): any_tenant}

LegWithoutCondition = faulty(Pgvector, {(statements, "_lexical_leg"): leg_without_condition})
FilterOutside = faulty(Pgvector, {(package, "search_statement"): filter_outside})
WrittenLiteral = faulty(
    Pgvector, {(table, "tenant_predicate"): written_literal}, _question=new_statement
)
UserOrTenant = faulty(Pgvector, {(package, "search_condition"): user_or_tenant})
SetForSession = faulty(Pgvector, {(requests, "_asked"): set_for_session, **UNCHECKED})
