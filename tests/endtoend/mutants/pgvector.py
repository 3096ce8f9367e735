"""The pgvector adapter with its tenant condition dropped."""

from psycopg.sql import SQL, Composed

from retrieverbench.model import TenantId
from retrieverbench_adapters.pgvector import Pgvector, table


def tenant_predicate(tenant: TenantId) -> tuple[Composed, dict[str, object]]:
    return Composed([SQL("true")]), {}


statements.tenant_predicate = tenant_predicate

Leaky = Pgvector
