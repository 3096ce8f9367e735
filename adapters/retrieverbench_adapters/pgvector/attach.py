"""Binding to a table of the user's: its fields are checked, and nothing is written.

Every connection is read-only by `default_transaction_read_only`, so the server itself
refuses a write. What an index can answer is asked of the planner, with `EXPLAIN` in a
transaction that is rolled back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from psycopg.errors import UndefinedObject
from psycopg.sql import SQL, Composable, Composed, Identifier
from psycopg.sql import Literal as Quoted

from retrieverbench.adapter import Attached, Settings
from retrieverbench.errors import InputError
from retrieverbench.options import nearest
from retrieverbench_adapters.pgvector.catalog import EXACT_KINDS, Catalog, Column, read_catalog
from retrieverbench_adapters.pgvector.connections import Connection
from retrieverbench_adapters.pgvector.options import Options
from retrieverbench_adapters.pgvector.plans import nodes
from retrieverbench_adapters.pgvector.requests import SET_LOCALLY, Sender
from retrieverbench_adapters.pgvector.statements import OPERATORS, index_order
from retrieverbench_adapters.pgvector.table import (
    BOUNDARIES,
    Field,
    Kind,
    Parameters,
    Table,
    column,
    tenant_equality,
)
from retrieverbench_adapters.pgvector.visible import (
    all_named,
    check_variable,
    check_visible,
    open_to_all,
    without_vector,
)
from retrieverbench_adapters.pgvector.weaknesses import Usable

_VECTORS = frozenset({"vector", "halfvec"})
_KEPT_AS_TEXT = frozenset({"character", "citext", "name"})
"""Types whose values a cast to text leaves as they are; an array's it would wrap in braces."""
_CLASS_OF_METRIC = {"cosine": "cosine", "inner_product": "ip", "l2": "l2"}


async def bind(
    sender: Sender, connection: Connection, settings: Settings, options: Options
) -> tuple[Table, Usable]:
    """The user's table, checked.

    Raises InputError with one line per field that is absent or of a type that cannot be
    compared exactly, and for an approximate index that was made for another metric.
    """
    attached = settings.attached
    assert attached is not None
    found = await find(sender, connection, attached)
    faults = [f"pgvector: attach.{fault}" for fault in _faults(found, settings, options)]
    if settings.layout == "partition" and attached.tenant not in (found.partition_key or ""):
        key = found.partition_key or "nothing"
        faults.append(
            f"pgvector: layout: 'partition' needs a table partitioned by {attached.tenant!r}, and "
            f"{found.name} is partitioned by {key}; use layout filter"
        )
    if faults:
        raise InputError(*faults)
    table = _table(found, settings, options)
    setting, seen = options.search.tenant_setting, None
    if table.boundary == "policy":  # first: once the variable was set it is never absent again
        check_variable(found, setting)
        seen = await open_to_all(sender, connection, table, setting)
    try:
        usable = replace(await _usable(sender, connection, table, options), open_to_all=seen)
    except UndefinedObject as error:
        told, policy = error.diag.message_primary, table.boundary == "policy"
        raise InputError(
            f"pgvector: attach.name: row-level security of {found.name} needs a variable: {told}; "
            + ("name it in search.tenant_setting" if policy else "use layout rls, which sets it")
        ) from error
    _check_index(found, attached, options, usable)
    if table.boundary != "policy":
        if found.binds:
            await check_visible(sender, connection, table, found)
        usable = replace(
            usable,
            named=await all_named(sender, connection, table, attached),
            without_vector=await without_vector(sender, connection, table),
            vector_column=attached.vector,
        )
    return table, usable


async def find(sender: Sender, connection: Connection, attached: Attached) -> Catalog:
    """The table's entry in the catalog. The name is taken letter by letter, without quotes.

    Either name may hold dots: the first way to part them that names a table is taken.
    """
    parts = attached.name.split(".")
    ways: list[tuple[str | None, str]] = [
        (".".join(parts[:end]), ".".join(parts[end:])) for end in range(1, len(parts))
    ]
    for schema, name in [*ways, (None, attached.name)]:
        found = await read_catalog(sender, connection, schema, name)
        if found is not None:
            return found
    raise InputError(
        f"pgvector: attach.name: there is no table {attached.name!r} that this role can "
        "find; write schema.table as the catalog has it, without quotes"
    )


def _faults(found: Catalog, settings: Settings, options: Options) -> Iterator[str]:
    attached = settings.attached
    assert attached is not None
    named = {"id": attached.id, "tenant": attached.tenant}
    named |= {f"text[{number}]": name for number, name in enumerate(attached.text)}
    named |= {"vector": attached.vector} if attached.vector else {}
    of_metadata = {f"metadata.{key}": name for key, name in attached.metadata.items()}
    for place, name in {"name": attached.name, **named, **of_metadata}.items():
        if "%" in name:
            yield f"{place}: {name!r} holds %, which the driver reads as a placeholder; rename it"
    absent = {place: name for place, name in named.items() if name not in found.columns}
    yield from _unreadable({**named, **of_metadata}, found)
    for place, name in absent.items():
        yield f"{place}: {found.name} has no column {name!r}; {nearest(name, found.columns)}"
    if "tenant" not in absent:
        yield from _tenant_faults(found.columns[attached.tenant], found, attached)
    if attached.vector and "vector" not in absent:
        yield from _vector_faults(found.columns[attached.vector], attached, settings, options)
    for number, name in enumerate(attached.text):
        if name in found.columns:
            yield from _text_faults(number, found.columns[name], attached)
    for key, name in attached.metadata.items():
        if _metadata_field(found, name) is None:
            yield (
                f"metadata.{key}: {found.name} has no column {name!r}, nor a jsonb column of "
                f"the name before its dot; {nearest(name, found.columns)}"
            )


def _unreadable(named: Mapping[str, str], found: Catalog) -> Iterator[str]:
    """Columns without a right among others with one; what lacks all of them the server tells."""
    some = any(column.readable for column in found.columns.values())
    for place, name in named.items():
        if some and name in found.columns and not found.columns[name].readable:
            yield (
                f"{place}: role {found.role!r} may not read column {name!r}; "
                f"GRANT SELECT ({name}) ON {found.name} TO {found.role}"
            )


def _tenant_faults(tenant: Column, found: Catalog, attached: Attached) -> Iterator[str]:
    if tenant.kind not in EXACT_KINDS:
        column = f"ALTER TABLE {found.name} ALTER COLUMN {attached.tenant} TYPE text"
        exact = "name a column of text, whole numbers or uuid that holds one owner in each row"
        yield (
            f"tenant: {attached.tenant!r} is {tenant.type}, which does not compare texts exactly; "
            f"{column if tenant.kind in _KEPT_AS_TEXT else exact}"
        )
    elif not tenant.deterministic:
        yield (
            f"tenant: {attached.tenant!r} has the nondeterministic collation "
            f"{tenant.collation!r}, under which different tenants are equal; "
            f'ALTER TABLE {found.name} ALTER COLUMN {attached.tenant} TYPE text COLLATE "C"'
        )


def _vector_faults(
    vector: Column, attached: Attached, settings: Settings, options: Options
) -> Iterator[str]:
    if vector.kind not in _VECTORS:
        yield (
            f"vector: {attached.vector!r} is {vector.type}, not vector or halfvec; "
            "name the column of the embeddings"
        )
    elif settings.dimension and vector.size not in {0, settings.dimension}:
        yield (
            f"vector: {attached.vector!r} is {vector.type} and the questions have "
            f"{settings.dimension} numbers; embed them with the model that made the column"
        )
    elif vector.kind == "halfvec" and options.place.quantization == "halfvec":
        yield "vector: the column is halfvec itself; leave place.quantization out"


def _text_faults(number: int, text: Column, attached: Attached) -> Iterator[str]:
    alone = len(attached.text) == 1
    if text.kind == "tsvector" and not alone:
        yield (
            f"text[{number}]: {attached.text[number]!r} is a tsvector; name it alone, "
            "or name columns of text"
        )
    elif text.kind not in {"text", "character varying", "character", "citext", "tsvector"}:
        yield f"text[{number}]: {attached.text[number]!r} is {text.type}, not text or tsvector"


def _metadata_field(found: Catalog, name: str) -> Field | None:
    """A column, or `column.key` inside a jsonb column."""
    if name in found.columns:
        there = found.columns[name]
        kind = EXACT_KINDS.get(there.kind) if there.exact and there.kind != "uuid" else None
        if there.kind == "boolean":
            kind = "boolean"
        if kind is not None:
            return Field(column(name), cast("Kind", kind))
        return Field(SQL("to_jsonb({})").format(column(name)), "jsonb")
    outer, _, key = name.partition(".")
    if key and outer in found.columns and found.columns[outer].kind == "jsonb":
        return Field(SQL("{} -> {}").format(column(outer), Quoted(key)), "jsonb")
    return None


def _table(found: Catalog, settings: Settings, options: Options) -> Table:
    attached = settings.attached
    assert attached is not None
    texts = [column(name) for name in attached.text]
    is_tsvector = [found.columns[name].kind == "tsvector" for name in attached.text] == [True]
    body: Composable | None = texts[0] if is_tsvector else None
    if texts and not is_tsvector:
        body = SQL("to_tsvector({}::regconfig, {})").format(
            Quoted(options.place.text_search_config), _joined(texts)
        )
    metadata = {key: _metadata_field(found, name) for key, name in attached.metadata.items()}
    boundary = BOUNDARIES[settings.layout]
    kind = cast("Kind", EXACT_KINDS[found.columns[attached.tenant].kind])
    return Table(
        relation=Identifier(found.schema, found.table),
        uid=SQL('{}::text COLLATE "C"').format(column(attached.id)),
        tenant=column(attached.tenant),
        owned=tenant_equality(column(attached.tenant), kind),
        text=SQL("NULL::text") if is_tsvector or not texts else _joined(texts),
        body=body,
        vector=column(attached.vector) if attached.vector and settings.dimension else None,
        boundary=boundary,
        dimension=settings.dimension,
        tenant_kind=kind,
        half=bool(attached.vector) and found.columns[attached.vector].kind == "halfvec",
        metadata={key: field for key, field in metadata.items() if field is not None},
        barrier=_barrier(found) if boundary == "policy" else "",
    )


def _joined(texts: Sequence[Composed]) -> Composable:
    """One column as it is, so that an index on it fits; several with lines between."""
    if len(texts) == 1:
        return SQL("{}::text").format(texts[0])
    parts = [SQL("coalesce({}::text, '')").format(text) for text in texts]
    return SQL(" || E'\\n' || ").join(parts)


def _barrier(found: Catalog) -> str:
    """Policies of row security as the server joins them: permissive by OR, others by AND."""
    permissive = [f"({policy.condition})" for policy in found.policies if policy.permissive]
    others = [f"({policy.condition})" for policy in found.policies if not policy.permissive]
    return " AND ".join([f"({' OR '.join(permissive)})", *others]) if permissive else "false"


async def _usable(sender: Sender, connection: Connection, table: Table, options: Options) -> Usable:
    """The indexes that the planner takes when it may not read tables from end to end."""
    rows = SQL("SELECT 1 FROM {} AS t").format(table.relation)
    nobody = "0" * 8 + "-0000" * 3 + "-" + "0" * 12 if table.tenant_kind == "uuid" else "0"
    # A value known only when the query runs: planning must not do away with partitions.
    by_tenant = SQL("{} WHERE {} = (SELECT {}::{})").format(
        rows, table.tenant, Quoted(nobody), SQL(table.tenant_kind)
    )
    usable: dict[str, str] = {}
    async with connection.transaction(force_rollback=True):
        changes = {"enable_seqscan": "off", "enable_sort": "off"}
        if table.boundary == "policy":  # plans are made by what it holds
            changes[options.search.tenant_setting] = nobody
        for change in changes.items():
            await sender.execute(connection, "attach", SET_LOCALLY, list(change))
        usable["tenant"] = await _index_of(sender, connection, by_tenant, "Index Cond", "=")
        if table.body is not None:
            by_words = SQL("{} WHERE {} @@ 'a'::tsquery").format(rows, table.body)
            usable["words"] = await _index_of(sender, connection, by_words, "Index Cond", "@@")
        if table.vector is not None:
            by_vector = SQL("{} ORDER BY {} LIMIT 1").format(rows, index_order(table, options))
            ones = np.ones(table.dimension, dtype=np.float32)
            usable["vector"] = await _index_of(
                sender, connection, by_vector, "Order By", "", {"vector": ones}
            )
    body = "" if table.body is None else table.body.as_string(connection).replace('"t".', "")
    return Usable(usable["tenant"], usable.get("words"), usable.get("vector"), expression=body)


async def _index_of(
    sender: Sender,
    connection: Connection,
    question: Composed,
    part: str,
    operator: str,
    parameters: Parameters | None = None,
) -> str:
    """The index that answers `operator` in this part of a plan's node; "" if none does."""
    explain = SQL("EXPLAIN (FORMAT JSON) {}").format(question)
    rows = await sender.execute(connection, "attach", explain, parameters)
    for node in nodes(rows[0][0][0]["Plan"]):
        if "Index Name" in node and operator in str(node.get(part, "")) and part in node:
            return str(node["Index Name"])
    return ""


def _check_index(found: Catalog, attached: Attached, options: Options, usable: Usable) -> None:
    """An approximate index must be for the metric that is asked."""
    if not attached.vector or options.search.exact:
        return
    metric = _CLASS_OF_METRIC[options.place.metric]
    others = [
        index
        for index in found.indexes
        if index.approximate and attached.vector in index.definition
    ]
    if usable.vector == "" and others:
        told = ", ".join(f"{index.name} ({' '.join(index.classes)})" for index in others)
        raise InputError(
            f"pgvector: attach.vector: no index answers {OPERATORS[options.place.metric]} "
            f"({metric}) on {attached.vector!r}: {told}; "
            "state how it was made by place.metric and place.quantization"
        )
