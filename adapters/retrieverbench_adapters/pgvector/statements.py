"""Pure builders: values in, statement and parameters out. Nothing here reaches a server.

Values and metadata keys are always bound, identifiers are quoted by the driver, and one
function writes the tenant's condition.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable
from struct import pack

import numpy as np
from psycopg.sql import SQL, Composable, Composed, Identifier, Placeholder
from psycopg.sql import Literal as Quoted
from psycopg.types.json import Jsonb

from retrieverbench.adapter import OWN_PREFIX, Settings
from retrieverbench.errors import Rejected, TenantError
from retrieverbench.model import Chunk, Query, TenantId
from retrieverbench_adapters.pgvector.options import Options, Place, Search

Parameters = dict[str, object]


def tenant_predicate(tenant: TenantId) -> tuple[Composed, Parameters]:
    """The one place where a tenant condition of a query is written."""
    return Composed([SQL("tenant = %(tenant)s::text")]), {"tenant": checked_tenant(tenant)}


def search_condition(query: Query) -> tuple[Composed, Parameters]:
    """The tenant, and inside it the user's equalities on metadata, as JSON compares."""
    condition, parameters = tenant_predicate(query.tenant)
    for number, (key, value) in enumerate(query.where.items()):
        names = f"key{number}", f"value{number}"
        equality = SQL(" AND metadata -> {}::text = {}::jsonb")
        condition += equality.format(*map(Placeholder, names))
        parameters |= dict(zip(names, (key, json.dumps(value)), strict=True))
    return condition, parameters


def search_statement(
    schema: Identifier, options: Options, condition: Composed, query: Query
) -> Composed:
    """The statement for one mode; its rows are (uid, score, tenant[, text])."""
    search, with_text = options.search, "text" in query.want
    known = {
        "columns": SQL("uid, tenant, text" if with_text else "uid, tenant"),
        "table": SQL("{}.chunks").format(schema),
        "condition": condition,
        "config": Quoted(options.place.text_search_config),
        "ranking": SQL(search.ranking),
        "normalization": Quoted(search.normalization),
    }
    dense = (_EXACT if search.exact else _NEAREST).format(**known)
    lexical = _WORDS.format(**known)
    if query.mode == "hybrid":
        known |= {"rrf_k": Quoted(search.rrf_k), "text": SQL(", min(text)" if with_text else "")}
        return _FUSED.format(dense, lexical, **known)
    leg = dense if query.mode == "dense" else lexical
    return _ONE.format(leg, text=SQL(", text" if with_text else ""))


def search_parameters(search: Search, query: Query) -> Parameters:
    """What a search binds beside its condition. `limit` is that of each leg."""
    hybrid = query.mode == "hybrid"
    parameters: Parameters = {"k": query.k}
    parameters["limit"] = max(query.k, search.depth) if hybrid else query.k
    if query.mode != "lexical":
        parameters["vector"] = np.asarray(query.vector, dtype=np.float32)
    if query.mode != "dense":
        # PostgreSQL keeps no NUL in a text; between words it is a blank like others.
        parameters["text"] = query.text.replace("\0", " ")
    return parameters


_EXACT = SQL(
    # Ordered by an expression that no index provides.
    "SELECT {columns}, 1 - (vector <=> %(vector)s) AS score FROM {table} WHERE {condition} "
    "ORDER BY score DESC, uid LIMIT %(limit)s"
)
_NEAREST = SQL(
    "SELECT {columns}, 1 - (vector <=> %(vector)s) AS score FROM {table} WHERE {condition} "
    "ORDER BY vector <=> %(vector)s LIMIT %(limit)s"
)
_WORDS = SQL(
    "SELECT {columns}, {ranking}(body, query, {normalization})::float8 AS score FROM {table}, ("
    "SELECT string_agg('''' || replace(replace(lexeme, chr(92), repeat(chr(92), 2)), "
    "'''', '''''') || '''', ' | ')::tsquery AS query "
    "FROM unnest(tsvector_to_array(to_tsvector({config}::regconfig, %(text)s::text))) lexeme"
    ") AS words WHERE {condition} AND body @@ query ORDER BY score DESC, uid LIMIT %(limit)s"
)
_ONE = SQL("SELECT uid, score, tenant{text} FROM ({}) leg ORDER BY score DESC, uid LIMIT %(k)s")
_FUSED = SQL(
    "WITH dense AS ({}), lexical AS ({}), ranked AS ("
    "SELECT {columns}, row_number() OVER (ORDER BY score DESC, uid) AS rank FROM dense UNION ALL "
    "SELECT {columns}, row_number() OVER (ORDER BY score DESC, uid) AS rank FROM lexical) "
    "SELECT uid, sum(1::float8 / ({rrf_k} + rank)) AS score, min(tenant){text} "
    "FROM ranked GROUP BY uid ORDER BY score DESC, uid LIMIT %(k)s"
)


def checked_tenant(tenant: object) -> str:
    """The tenant's value as stored. Raises TenantError for what cannot name one tenant."""
    value = tenant.value if isinstance(tenant, TenantId) else None
    if type(value) is not str or not value or "\0" in value:
        raise TenantError(f"pgvector: tenant: {tenant!r:.80} does not name one tenant")
    return value


def sent_columns(dimension: int) -> list[str]:
    """The columns that `put` fills."""
    columns = ["uid", "tenant", "id", "title", "text", "metadata"]
    return [*columns, "vector"] if dimension else columns


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


def place_statements(schema: Identifier, settings: Settings, place: Place) -> list[Composed]:
    """The schema, the searched table `chunks`, and `incoming`, into which `put` copies."""
    partitioned = settings.layout == "partition"
    known = {
        "schema": schema,
        "config": Quoted(place.text_search_config),
        "vector": SQL("vector vector({}) NOT NULL CHECK (vector_norm(vector) > 0),").format(
            Quoted(settings.dimension)
        )
        if settings.dimension
        else SQL(""),
        "key": _key(settings),
        "partition": SQL("PARTITION BY LIST (tenant)" if partitioned else ""),
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
                "CREATE UNLOGGED TABLE {schema}.incoming (LIKE {schema}.chunks, "
                "seq bigint GENERATED ALWAYS AS IDENTITY (CACHE 1000))"
            ),
            SQL("ALTER TABLE {schema}.incoming DROP COLUMN body"),
        )
    ]


def partition_statement(schema: Identifier, tenant: str) -> Composed:
    """Named by a hash: PostgreSQL would cut long names, and two tenants could meet in one."""
    name = Identifier(f"chunks_{hashlib.sha256(tenant.encode()).hexdigest()[:40]}")
    return SQL(
        "CREATE TABLE IF NOT EXISTS {0}.{1} PARTITION OF {0}.chunks FOR VALUES IN ({2})"
    ).format(schema, name, Quoted(tenant))


def merge_statements(schema: Identifier, settings: Settings) -> list[Composed]:
    """The latest row of each uid, in the order of arrival: HNSW graphs depend on it."""
    columns = sent_columns(settings.dimension)
    updates = SQL(", ").join(SQL("{0} = EXCLUDED.{0}").format(Identifier(c)) for c in columns)
    merge = SQL(
        "INSERT INTO {schema}.chunks ({columns}) SELECT {columns} FROM (SELECT DISTINCT ON (uid) * "
        "FROM {schema}.incoming ORDER BY uid, seq DESC) latest ORDER BY seq "
        "ON CONFLICT ({key}) DO UPDATE SET {updates}"
    ).format(schema=schema, columns=listed(columns), key=_key(settings), updates=updates)
    return [merge, SQL("TRUNCATE {}.incoming").format(schema)]


def index_statements(schema: Identifier, settings: Settings, place: Place) -> list[Composed]:
    """Indexes that are not there yet, and the planner's statistics."""
    create = [
        SQL("CREATE INDEX IF NOT EXISTS chunks_tenant ON {}.chunks (tenant)"),
        SQL("CREATE INDEX IF NOT EXISTS chunks_body ON {}.chunks USING gin (body)"),
    ]
    if settings.dimension and place.index == "hnsw":
        create.append(
            SQL(
                "CREATE INDEX IF NOT EXISTS chunks_vector ON {}.chunks "
                "USING hnsw (vector vector_cosine_ops) WITH (m = {m}, ef_construction = {ef})"
            )
        )
    known = {"m": Quoted(place.m), "ef": Quoted(place.ef_construction)}
    statements = [*create, SQL("VACUUM (ANALYZE) {}.chunks")]
    return [statement.format(schema, **known) for statement in statements]


def _key(settings: Settings) -> Composable:
    return SQL("tenant, uid" if settings.layout == "partition" else "uid")


def listed(columns: Iterable[str]) -> Composed:
    """Names, quoted, with commas."""
    return SQL(", ").join(map(Identifier, columns))


def server_settings(search: Search) -> dict[str, str]:
    """What every searching connection is told, by the server's own names."""
    return {
        "hnsw.ef_search": str(search.ef_search),
        "hnsw.iterative_scan": search.iterative_scan,
        "hnsw.max_scan_tuples": str(search.max_scan_tuples),
        "hnsw.scan_mem_multiplier": f"{search.scan_mem_multiplier:g}",
        "work_mem": search.work_mem,
        "plan_cache_mode": search.plan_cache_mode,
    }


IN_STATEMENT = ("exact", "ranking", "normalization", "rrf_k", "depth")
HAS_EXTENSION = "SELECT 1 FROM pg_extension WHERE extname = 'vector'"
CREATE_EXTENSION = "CREATE EXTENSION IF NOT EXISTS vector"
READ_BACK = "SELECT name, current_setting(name) FROM unnest(%s::text[]) name"
FACTS = """
WITH place AS (
    SELECT t.oid FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
    WHERE n.nspname = %(schema)s AND t.relname = 'chunks'
), indexes AS (
    SELECT amname, reloptions FROM place JOIN pg_index ON indrelid = place.oid
    JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = c.relam WHERE indisvalid
)
SELECT jsonb_build_object(
    'server', current_setting('server_version'),
    'extension', (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    'maintenance_work_mem', current_setting('maintenance_work_mem'),
    'fsync', current_setting('fsync'),
    'role_skips_row_security',
        (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user),
    'tenant_column', (
        SELECT concat_ws(' ', format_type(atttypid, atttypmod), 'collate', collname,
                         CASE WHEN attnotnull THEN 'not null' END)
        FROM place JOIN pg_attribute ON attrelid = place.oid JOIN pg_collation c
        ON c.oid = attcollation WHERE attname = 'tenant'),
    'vector_column', (
        SELECT format_type(atttypid, atttypmod) FROM place
        JOIN pg_attribute ON attrelid = place.oid WHERE attname = 'vector'),
    'text_search_config', (
        SELECT substring(pg_get_expr(adbin, adrelid) FROM '''([^'']+)''::regconfig')
        FROM place JOIN pg_attrdef ON adrelid = place.oid),
    'partitions', (SELECT count(*) FROM place JOIN pg_inherits ON inhparent = place.oid),
    'indexes', (SELECT string_agg(amname, ', ' ORDER BY amname) FROM indexes),
    'index', coalesce((SELECT amname FROM indexes WHERE amname = 'hnsw'), 'none')
) || coalesce((
    SELECT jsonb_object_agg(option_name, option_value::int)
    FROM indexes, pg_options_to_table(reloptions) WHERE amname = 'hnsw'), '{}')
"""


def schema_name(place: str) -> str:
    """The place's name; PostgreSQL would cut what is longer than 63 bytes."""
    if len(place.encode()) <= 63:
        return place
    return f"{OWN_PREFIX}{hashlib.sha256(place.encode()).hexdigest()[:40]}"


def check_vector(query: Query, dimension: int) -> None:
    """Raise Rejected for a question whose vector has no cosine with the stored ones."""
    if query.mode == "lexical":
        return
    if query.vector is None or len(query.vector) != dimension:
        length = "no vector" if query.vector is None else f"{len(query.vector)} numbers"
        raise Rejected(f"pgvector: search: the question has {length}, expected {dimension}")
    if not any(query.vector):
        raise Rejected("pgvector: search: the question's vector is zero, so it has no cosine")
