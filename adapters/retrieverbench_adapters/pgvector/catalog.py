"""What the server's catalog tells of a table: columns, indexes, row security, the role."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retrieverbench_adapters.pgvector.connections import Connection
from retrieverbench_adapters.pgvector.requests import Sender

EXACT_KINDS: Mapping[str, str] = {
    "text": "text",
    "character varying": "text",
    "uuid": "uuid",
    "smallint": "bigint",
    "integer": "bigint",
    "bigint": "bigint",
}
"""Types whose equality is that of the values' own characters, and how they are compared."""


@dataclass(frozen=True, slots=True)
class Column:
    """`type` is with its size, `kind` without; of a domain, that of its base type.

    `readable` says whether the role may select it.
    """

    type: str
    kind: str
    collation: str | None
    deterministic: bool
    not_null: bool
    readable: bool = True

    @property
    def exact(self) -> bool:
        """Whether only equal characters are equal."""
        return self.kind in EXACT_KINDS and self.deterministic

    @property
    def size(self) -> int:
        """Numbers in a vector; 0 when the column does not limit it."""
        found = re.search(r"\((\d+)\)", self.type)
        return int(found[1]) if found else 0

    def __str__(self) -> str:
        words = (self.type, f"collate {self.collation}" if self.collation else "")
        return " ".join(filter(None, (*words, "not null" if self.not_null else "")))


@dataclass(frozen=True, slots=True)
class Index:
    """`classes` are operator classes; `options` storage parameters such as m."""

    name: str
    method: str
    definition: str
    classes: tuple[str, ...]
    options: Mapping[str, str]

    @property
    def approximate(self) -> bool:
        """Whether it answers by nearness, and may miss some."""
        return self.method in {"hnsw", "ivfflat"}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy of row-level security for reading that applies to the role."""

    name: str
    permissive: bool
    condition: str

    @property
    def variables(self) -> frozenset[str]:
        """Those that it reads itself; a function in it may read others."""
        return frozenset(re.findall(r"current_setting\('([^']+)'", self.condition))


@dataclass(frozen=True, slots=True)
class Catalog:
    """One table as this role finds it. `kind` is PostgreSQL's `relkind`."""

    server: str
    extension: str | None
    fsync: str
    schema: str
    table: str
    kind: str
    role: str
    superuser: bool
    bypasses: bool
    owner: bool
    secured: bool
    forced: bool
    invoker: bool
    partition_key: str | None
    partitions: int
    config: str | None
    columns: Mapping[str, Column]
    indexes: tuple[Index, ...]
    policies: tuple[Policy, ...]

    @property
    def name(self) -> str:
        """As SQL writes it, without quotes."""
        return f"{self.schema}.{self.table}"

    @property
    def binds(self) -> bool:
        """Whether row security holds for the role."""
        exempt = self.superuser or self.bypasses or (self.owner and not self.forced)
        return self.secured and not exempt

    @property
    def vector_index(self) -> Index | None:
        """The approximate index, if there is there is one; the first of several."""
        return next((index for index in self.indexes if index.approximate), None)


async def read_catalog(
    sender: Sender, connection: Connection, schema: str | None, table: str
) -> Catalog | None:
    """The table of that name, in the search path if no schema is named; None if it is not."""
    names = {"schema": schema, "table": table}
    rows = await sender.execute(connection, "catalog", _CATALOG, names)
    if not rows:
        return None
    found: dict[str, Any] = rows[0][0]
    columns = {name: Column(**column) for name, column in found.pop("columns").items()}
    indexes = tuple(
        Index(**{**index, "classes": tuple(index["classes"])}) for index in found.pop("indexes")
    )
    policies = tuple(Policy(**policy) for policy in found.pop("policies"))
    return Catalog(**found, columns=columns, indexes=indexes, policies=policies)


_CATALOG = """
WITH place AS (
    SELECT c.*, nspname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE relname = %(table)s::text AND relkind IN ('r', 'p', 'm', 'v', 'f') AND
    CASE WHEN %(schema)s::text IS NULL THEN nspname = ANY(current_schemas(true))
    ELSE nspname = %(schema)s::text END
    ORDER BY array_position(current_schemas(true), nspname) LIMIT 1
), attributes AS (
    SELECT a.attname, a.attnotnull, t.typtype, format_type(a.atttypid, a.atttypmod) AS type,
        (WITH RECURSIVE base AS (  -- a domain may be one over another domain
            SELECT t.oid, t.typbasetype UNION ALL
            SELECT p.oid, p.typbasetype FROM base b JOIN pg_type p ON p.oid = b.typbasetype
        ) SELECT format_type(oid, NULL) FROM base WHERE typbasetype = 0) AS kind,
        collname, coalesce(collisdeterministic, true) AS deterministic,
        has_column_privilege(place.oid, attnum, 'SELECT') AS readable
    FROM place JOIN pg_attribute a ON attrelid = place.oid JOIN pg_type t ON t.oid = atttypid
    LEFT JOIN pg_collation l ON l.oid = attcollation
    WHERE attnum > 0 AND NOT attisdropped
), indexes AS (
    SELECT i.*, c.relname, amname, c.reloptions FROM place JOIN pg_index i ON indrelid = place.oid
    JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = c.relam WHERE indisvalid
)
SELECT jsonb_build_object(
    'server', current_setting('server_version'),
    'extension', (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    'fsync', current_setting('fsync'),
    'schema', nspname, 'table', relname, 'kind', relkind,
    'role', current_user, 'superuser', rolsuper, 'bypasses', rolbypassrls,
    'owner', pg_has_role(current_user, relowner, 'USAGE'),
    'secured', relrowsecurity, 'forced', relforcerowsecurity,
    'invoker', coalesce('security_invoker=true' = ANY(place.reloptions), false)
        OR coalesce('security_invoker=on' = ANY(place.reloptions), false),
    'partition_key', CASE relkind WHEN 'p' THEN pg_get_partkeydef(place.oid) END,
    'partitions', (SELECT count(*) FROM pg_inherits WHERE inhparent = place.oid),
    'config', (
        SELECT max(substring(pg_get_expr(adbin, adrelid) FROM '''([^'']+)''::regconfig'))
        FROM pg_attrdef WHERE adrelid = place.oid),
    'columns', (SELECT jsonb_object_agg(attname, jsonb_build_object(
        'type', type, 'kind', kind, 'collation', collname, 'deterministic', deterministic,
        'not_null', attnotnull, 'readable', readable)) FROM attributes),
    'indexes', coalesce((SELECT jsonb_agg(jsonb_build_object(
        'name', relname, 'method', amname, 'definition', pg_get_indexdef(indexrelid),
        'classes', (SELECT jsonb_agg(opcname) FROM pg_opclass WHERE oid = ANY(indclass)),
        'options', coalesce((SELECT jsonb_object_agg(option_name, option_value)
            FROM pg_options_to_table(reloptions)), '{}')) ORDER BY relname) FROM indexes), '[]'),
    'policies', coalesce((SELECT jsonb_agg(jsonb_build_object(
        'name', polname, 'permissive', polpermissive,
        'condition', pg_get_expr(polqual, polrelid)) ORDER BY polname)
        FROM pg_policy WHERE polrelid = place.oid AND polcmd IN ('r', '*')
        AND (0 = ANY(polroles) OR EXISTS (SELECT 1 FROM unnest(polroles) AS member
            WHERE member <> 0 AND pg_has_role(current_user, member, 'USAGE')))), '[]')
) FROM place, pg_roles WHERE rolname = current_user
"""
