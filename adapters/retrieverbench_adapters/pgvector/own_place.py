"""Pure builders of a place of our own: its schema, tables, indexes and roles, and its rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from struct import pack

import numpy as np
from psycopg.sql import SQL, Composable, Composed, Identifier
from psycopg.sql import Literal as Quoted
from psycopg.types.json import Jsonb

from retrieverbench.adapter import Settings
from retrieverbench.model import Chunk
from retrieverbench_adapters.pgvector.options import Metric, Options, Place
from retrieverbench_adapters.pgvector.table import partition_name, policy_condition

CREATE_EXTENSION = "CREATE EXTENSION IF NOT EXISTS vector"
_BOTH = Identifier("chunks"), Identifier("incoming")
_CLASSES: dict[Metric, str] = {"cosine": "cosine_ops", "inner_product": "ip_ops", "l2": "l2_ops"}


def has_partitions(settings: Settings) -> bool:
    """Layouts with a table per tenant; they differ in what a question names.

    Either the common parent, which the server narrows to one of them, or that table itself.
    """
    return settings.layout in {"partition", "index"}


def place_statements(schema: Identifier, settings: Settings, place: Place) -> list[Composed]:
    """The schema, the searched table `chunks`, and `incoming`, into which `put` copies.

    What a crash empties is no place to resume from, so there `incoming` is logged.
    """
    checked = SQL("CHECK (vector_norm(vector) > 0)" if place.metric == "cosine" else "")
    known: dict[str, Composable] = {
        "schema": schema,
        "config": Quoted(place.text_search_config),
        "vector": SQL("vector vector({}) NOT NULL {},").format(Quoted(settings.dimension), checked)
        if settings.dimension
        else SQL(""),
        "key": _key(settings),
        "partition": SQL("PARTITION BY LIST (tenant)" if has_partitions(settings) else ""),
        "unlogged": SQL("" if settings.resume else "UNLOGGED"),
    }
    return [
        statement.format(**known)
        for statement in (
            SQL("CREATE SCHEMA {schema}"),
            SQL(
                'CREATE TABLE {schema}.chunks (uid text COLLATE "C" NOT NULL, '
                "tenant text COLLATE \"C\" NOT NULL CHECK (tenant <> ''), id text NOT NULL, "
                "title text NOT NULL, text text NOT NULL, metadata jsonb NOT NULL, {vector} "
                "body tsvector GENERATED ALWAYS AS "
                "(to_tsvector({config}::regconfig, title || E'\\n' || text)) STORED, "
                "PRIMARY KEY ({key})) {partition}"
            ),
            SQL(
                "CREATE {unlogged} TABLE {schema}.incoming (LIKE {schema}.chunks, "
                "seq bigint GENERATED ALWAYS AS IDENTITY (CACHE 1000))"
            ),
            SQL("ALTER TABLE {schema}.incoming DROP COLUMN body"),
        )
    ]


def create_role(role: Identifier, verifier: str) -> Composed:
    """A role that only logs in. `verifier` is what the server keeps instead of a password."""
    return SQL(
        "CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION "
        "PASSWORD {}"
    ).format(role, Quoted(verifier))


def reset_role(role: Identifier, verifier: str) -> Composed:
    """Another password for the role of a place that is there already."""
    return SQL("ALTER ROLE {} PASSWORD {}").format(role, Quoted(verifier))


def security_statements(schema: Identifier, role: Identifier, setting: str) -> list[Composed]:
    """Row-level security for everybody, the owner too; the loading role has its own policy."""
    known = {"schema": schema, "role": role, "condition": policy_condition(setting)}
    return [
        SQL(text).format(**known)
        for text in (
            "ALTER TABLE {schema}.chunks ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE {schema}.chunks FORCE ROW LEVEL SECURITY",
            "CREATE POLICY tenant ON {schema}.chunks FOR SELECT USING ({condition})",
            "CREATE POLICY loader ON {schema}.chunks TO CURRENT_USER USING (true)",
            "GRANT USAGE ON SCHEMA {schema} TO {role}",
            "GRANT SELECT ON {schema}.chunks TO {role}",
        )
    ]


def drop_statements(schema: Identifier, role: str) -> list[Composed]:
    """What of it is there; the role has no rights left once the schema is gone."""
    statements = [SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(schema)]
    if role:
        statements.append(SQL("DROP ROLE IF EXISTS {}").format(Identifier(role)))
    return statements


def partition_statement(schema: Identifier, tenant: str) -> Composed:
    """A tenant's table, unless it is there."""
    return SQL(
        "CREATE TABLE IF NOT EXISTS {0}.{1} PARTITION OF {0}.chunks FOR VALUES IN ({2})"
    ).format(schema, Identifier(partition_name(tenant)), Quoted(tenant))


def merge_statements(schema: Identifier, settings: Settings) -> list[Composed]:
    """The latest row of each uid, in the order of arrival: HNSW graphs depend on it."""
    columns = sent_columns(settings.dimension)
    updates = SQL(", ").join(SQL("{0} = EXCLUDED.{0}").format(Identifier(c)) for c in columns)
    merge = SQL(
        "INSERT INTO {schema}.chunks ({columns}) SELECT {columns} FROM {schema}.incoming "
        "WHERE seq IN (SELECT max(seq) FROM {schema}.incoming GROUP BY uid) ORDER BY seq "
        "ON CONFLICT ({key}) DO UPDATE SET {updates}"
    ).format(schema=schema, columns=listed(columns), key=_key(settings), updates=updates)
    statements = [merge, SQL("TRUNCATE {}.incoming").format(schema)]
    if has_partitions(settings):  # a uid that was moved stands in another tenant's table
        moved = SQL(
            "DELETE FROM {0}.chunks USING {0}.incoming "
            "WHERE chunks.uid = incoming.uid AND chunks.tenant <> incoming.tenant"
        )
        statements.insert(0, moved.format(schema))
    return statements


def index_statements(schema: Identifier, settings: Settings, options: Options) -> list[Composed]:
    """Indexes that are not there yet, and the planner's statistics."""
    create = [
        SQL("CREATE INDEX IF NOT EXISTS chunks_tenant ON {schema}.chunks (tenant)"),
        SQL("CREATE INDEX IF NOT EXISTS chunks_body ON {schema}.chunks USING gin (body)"),
    ]
    place = options.place
    if settings.dimension and place.index == "hnsw":
        create.append(
            SQL(
                "CREATE INDEX IF NOT EXISTS chunks_vector ON {schema}.chunks "
                "USING hnsw ({column}) WITH (m = {m}, ef_construction = {ef})"
            )
        )
    known: dict[str, Composable] = {
        "schema": schema,
        "column": _indexed(place, settings.dimension),
        "m": Quoted(place.m),
        "ef": Quoted(place.ef_construction),
    }
    statements = [*create, SQL("VACUUM (ANALYZE) {schema}.chunks")]
    return [statement.format(**known) for statement in statements]


def _indexed(place: Place, dimension: int) -> Composed:
    """What the HNSW index holds, and the class of its operators."""
    size = Quoted(dimension)
    if place.quantization == "binary":
        return SQL("(binary_quantize(vector)::bit({})) bit_hamming_ops").format(size)
    words = SQL(_CLASSES[place.metric])
    if place.quantization == "halfvec":
        return SQL("(vector::halfvec({})) halfvec_{}").format(size, words)
    return SQL("vector vector_{}").format(words)


def delete_statements(schema: Identifier, condition: Composed) -> list[Composed]:
    """The chunks of these uids under the tenant's condition, settled or not."""
    delete = SQL("DELETE FROM {}.{} AS t WHERE {} AND t.uid = ANY(%(uids)s::text[])")
    return [delete.format(schema, table, condition) for table in _BOTH]


def move_statements(schema: Identifier, condition: Composed) -> list[Composed]:
    """Another owner for the chunk of this uid under the tenant's condition, settled or not."""
    update = SQL(
        "UPDATE {}.{} AS t SET tenant = %(target)s::text WHERE {} AND t.uid = %(uid)s::text"
    )
    return [update.format(schema, table, condition) for table in _BOTH]


def sent_columns(dimension: int) -> list[str]:
    """The columns that `put` fills."""
    columns = ["uid", "tenant", "id", "title", "text", "metadata"]
    return [*columns, "vector"] if dimension else columns


def copy_statement(schema: Identifier, dimension: int) -> Composed:
    """The COPY whose rows `copy_row` makes."""
    columns = listed(sent_columns(dimension))
    return SQL("COPY {}.incoming ({}) FROM STDIN (FORMAT BINARY)").format(schema, columns)


def copy_row(chunk: Chunk, *, with_vector: bool) -> tuple[object, ...]:
    """The chunk's values in the order of `sent_columns`, for COPY in binary format."""
    words = chunk.uid, chunk.tenant.value, chunk.id, chunk.title, chunk.text
    metadata = Jsonb(dict(chunk.metadata))
    if not with_vector:
        return *words, metadata
    return *words, metadata, None if chunk.vector is None else _binary_vector(chunk.vector)


def _binary_vector(vector: array[float]) -> bytes:
    """The extension's format on the wire: dimension, an unused number, big-endian floats.

    Without the way over its Python class, which costs more than all else of a row together.
    """
    return pack(">HH", len(vector), 0) + np.asarray(vector, dtype=">f4").tobytes()


def _key(settings: Settings) -> Composable:
    return SQL("tenant, uid" if has_partitions(settings) else "uid")


def listed(columns: Iterable[str]) -> Composed:
    """Names, quoted, with commas."""
    return SQL(", ").join(map(Identifier, columns))
