"""What is searched: a relation, the expressions that read it, and who keeps tenants apart.

Own places and attached tables differ here and nowhere in the statements. Expressions name
their columns through the alias `t`. Values and metadata keys are always bound, identifiers
are quoted by the driver, and one function writes the tenant's condition.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from psycopg.sql import SQL, Composable, Composed, Identifier, Placeholder
from psycopg.sql import Literal as Quoted

from retrieverbench.adapter import OWN_PREFIX, Settings
from retrieverbench.errors import Rejected, TenantError
from retrieverbench.model import Layout, Query, TenantId, Value
from retrieverbench.remote import LONG, is_unicode, whole_number
from retrieverbench_adapters.pgvector.options import Options

Parameters = dict[str, object]
Kind = Literal["text", "uuid", "bigint", "boolean", "jsonb"]
Boundary = Literal["query", "policy", "table"]
"""What keeps tenants apart: the statement's own condition, a policy, a table per tenant."""

BOUNDARIES: Mapping[Layout, Boundary] = {
    "filter": "query",
    "partition": "query",
    "index": "table",
    "rls": "policy",
}
_ALWAYS = Composed([SQL("true")])
_MAX_NAME = 63  # bytes; PostgreSQL cuts what is longer, and two names could meet in one


@dataclass(frozen=True, slots=True)
class Field:
    """An expression that a user's condition compares, and the type it is compared in."""

    expression: Composable
    kind: Kind


@dataclass(frozen=True, slots=True)
class Table:
    """Where chunks lie.

    `owned` compares the column `tenant` with the one who asks: made once, since questions are
    timed. `vector` and `body` (a tsvector) are None where no mode needs them. `half` tells a
    column of type halfvec. `metadata` maps keys of user conditions to fields; None is the
    column `metadata` of our own place, which takes any key. `barrier` is what the server
    itself adds to every query, in its own words; "" if nothing. `only` is the tenant whose
    rows alone the relation can hold; "" where it holds those of several.
    """

    relation: Composable
    uid: Composable
    tenant: Composable
    owned: Composed
    text: Composable
    body: Composable | None
    vector: Composable | None
    boundary: Boundary
    dimension: int = 0
    tenant_kind: Kind = "text"
    half: bool = False
    metadata: Mapping[str, Field] | None = None
    barrier: str = ""
    only: str = ""


def column(name: str) -> Composed:
    """A column of the searched relation."""
    return Composed([Identifier("t", name)])


def own_table(settings: Settings, options: Options, tenant: str = "") -> Table:
    """The table of our own place; in layout `index` the one that holds this tenant alone."""
    boundary = BOUNDARIES[settings.layout]
    name, barrier = "chunks", ""
    if boundary == "policy":
        barrier = policy_condition(options.search.tenant_setting).as_string()
    if boundary == "table" and tenant:
        name = partition_name(tenant)
        barrier = tenant_equality(column("tenant"), "text").as_string()
    return Table(
        relation=SQL("{}.{}").format(Identifier(schema_name(settings.place)), Identifier(name)),
        uid=column("uid"),
        tenant=column("tenant"),
        owned=tenant_equality(column("tenant"), "text"),
        text=column("text"),
        body=column("body"),
        vector=column("vector") if settings.dimension else None,
        boundary=boundary,
        dimension=settings.dimension,
        barrier=barrier,
        only=tenant if boundary == "table" else "",
    )


def tenant_predicate(table: Table, tenant: TenantId) -> tuple[Composed, Parameters]:
    """The one place where a tenant condition of a query is written.

    A value that the column's type cannot hold is bound as NULL, which equals nothing.
    """
    value = checked_tenant(tenant)
    if table.boundary != "query":
        return _ALWAYS, {}
    return table.owned, {"tenant": _as_column_holds(table.tenant_kind, value)}


def tenant_equality(tenant: Composable, kind: Kind) -> Composed:
    """The column's equality with the bound `tenant`, in the column's own type."""
    return _equality(tenant, kind, "tenant")


def policy_condition(setting: str) -> Composed:
    """What row-level security adds. After a transaction the variable is empty, not NULL."""
    return SQL("tenant = nullif(current_setting({}, true), '')").format(Quoted(setting))


def search_condition(table: Table, query: Query) -> tuple[Composed, Parameters]:
    """The tenant, and inside it the user's equalities on metadata, each in parentheses."""
    condition, parameters = tenant_predicate(table, query.tenant)
    for number, (key, value) in enumerate(query.where.items()):
        equality, bound = _user_condition(table, number, key, value)
        condition = SQL("{} AND ({})").format(condition, equality)
        parameters |= bound
    return condition, parameters


def _user_condition(
    table: Table, number: int, key: str, value: Value
) -> tuple[Composed, Parameters]:
    """An equality as JSON compares: a text never equals a number."""
    name = f"value{number}"
    if table.metadata is None:
        expression = SQL("{} -> {}::text").format(column("metadata"), Placeholder(f"key{number}"))
        held = key if is_storable(key) else None
        bound = {f"key{number}": held, name: _bound("jsonb", value)}
        return _equality(expression, "jsonb", name), bound
    if key not in table.metadata:
        mapped = ", ".join(sorted(table.metadata)) or "none"
        raise Rejected(f"pgvector: where: {key!r:.80} is mapped to no column; mapped: {mapped}")
    field = table.metadata[key]
    return _equality(field.expression, field.kind, name), {name: _bound(field.kind, value)}


def _equality(expression: Composable, kind: Kind, name: str) -> Composed:
    return SQL("{} = {}::{}").format(expression, Placeholder(name), SQL(kind))


def _bound(kind: Kind, value: Value) -> object:
    """The value in the column's type; None, which equals nothing, if the type has no such."""
    if isinstance(value, str) and not is_storable(value):
        return None
    if kind == "jsonb":
        return json.dumps(value)
    if kind == "bigint":
        whole = isinstance(value, (int, float)) and not isinstance(value, bool) and value % 1 == 0
        return int(value) if whole and int(value) in LONG else None
    return value if isinstance(value, bool if kind == "boolean" else str) else None


def _as_column_holds(kind: Kind, tenant: str) -> object:
    """Only what the column would print in these very characters: '01' is no tenant 1."""
    if kind == "bigint":
        return whole_number(tenant, LONG)
    if kind == "uuid":
        plain = re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", tenant)
        return UUID(tenant) if plain else None
    return tenant


def checked_tenant(tenant: object) -> str:
    """The tenant's value as stored. Raises TenantError for what cannot name one tenant."""
    value = tenant.value if isinstance(tenant, TenantId) else None
    if type(value) is not str or not value or not is_storable(value):
        raise TenantError(f"pgvector: tenant: {tenant!r:.80} does not name one tenant")
    return value


def is_storable(text: str) -> bool:
    """Whether a text of PostgreSQL can hold it: no NUL, no half of a surrogate pair."""
    return "\0" not in text and is_unicode(text)


def schema_name(place: str) -> str:
    """The place's name, or a hash of one that is too long."""
    return _short(place)


def role_name(place: str) -> str:
    """The role that searches a place with row-level security; roles have no schema."""
    return _short(f"{place}_search")


def partition_name(tenant: str) -> str:
    """The table of one tenant: no two tenants share it, whatever their names hold."""
    return f"chunks_{hashlib.sha256(tenant.encode()).hexdigest()[:40]}"


def _short(name: str) -> str:
    if len(name.encode()) <= _MAX_NAME:
        return name
    return f"{OWN_PREFIX}{hashlib.sha256(name.encode()).hexdigest()[:40]}"
