"""The pgvector adapter with what parts the tenants dropped, in every layout."""

from psycopg.sql import SQL, Composed

from retrieverbench.adapter import Settings
from retrieverbench.model import TenantId
from retrieverbench_adapters.pgvector import Options, Pgvector, loading, own_place, table

ALL = Composed([SQL("true")])
own_table = table.own_table


def tenant_predicate(_: table.Table, tenant: TenantId) -> tuple[Composed, dict[str, object]]:
    """Layouts `filter` and `partition`."""
    return ALL, {}


def table_of_all(settings: Settings, options: Options, tenant: str = "") -> table.Table:
    """Layout `index`: each tenant is sent to everybody's table."""
    return own_table(settings, options)


def policy_condition(setting: str) -> Composed:
    """Layout `rls`."""
    return ALL


vars(table)["tenant_predicate"] = tenant_predicate
vars(loading)["own_table"] = table_of_all
vars(own_place)["policy_condition"] = policy_condition

Leaky = Pgvector
