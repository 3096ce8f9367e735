"""A user's table that PostgreSQL keeps apart wrongly: one flaw at a time, on a real server."""

from __future__ import annotations

import runpy
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from retrieverbench.model import Chunk
from retrieverbench.run import Connection
from retrieverbench.testing import UsersIndex

MINE = "nullif(current_setting('app.tenant', true), '')"
_SECURED = "ALTER TABLE {docs} ENABLE ROW LEVEL SECURITY"
_POLICY = "CREATE POLICY apart ON {docs} USING "
_VIEW = "CREATE VIEW {seen} AS SELECT * FROM {docs} WHERE "


INDEX = Path(__file__).parents[1] / "contract" / "indexes" / "pgvector.py"


@dataclass(frozen=True)
class Flaw:
    """What an administrator does to a right table. `{docs}` is the table, `{role}` who reads it.

    `{seen}` is what is attached in its place, where a statement makes it. `layout` `rls` leaves
    the tenant to the server, which is told by `app.tenant`. `seen` is the audit's verdict, `words`
    are its.
    """

    name: str
    seen: str
    words: str
    statements: tuple[str, ...]
    layout: str = "rls"


def policy(name: str, seen: str, words: str, condition: str, *more: str) -> Flaw:
    """Row security by this condition, forced upon everybody."""
    forced = "ALTER TABLE {docs} FORCE ROW LEVEL SECURITY"
    return Flaw(name, seen, words, (_SECURED, forced, f"{_POLICY}({condition})", *more))


def view(name: str, seen: str, words: str, condition: str, *before: str) -> Flaw:
    """A view that shows the rows of this condition."""
    return Flaw(name, seen, words, (*before, _VIEW + condition))


_RIGHT = f"owner = {MINE}"
_FIRST = "doc_id = 'birch/leave/annual#1'"
_NOBODYS = f"UPDATE {{docs}} SET owner = NULL WHERE {_FIRST}"
_LABELLED = f"CASE WHEN {_FIRST} THEN 'cedar' ELSE owner END AS owner"
FLAWS = (
    policy("right", "clean", "", _RIGHT),
    view("right-view", "told", "is a view", _RIGHT),
    view("view-or-null", "leak", "", f"{_RIGHT} OR owner IS NULL", _NOBODYS),
    view("view-or-null-unknown", "leak", "not in the corpus", f"{_RIGHT} OR owner IS NULL",
         "INSERT INTO {docs} SELECT 'x/1', NULL, body, embedding FROM {docs} LIMIT 1"),
    view("view-ilike", "leak", "P12", f"owner ILIKE {MINE}"),
    view("view-prefix", "leak", "P12", f"owner LIKE {MINE} || '%'"),
    view("view-union", "leak", "",
         f"{_RIGHT} UNION ALL SELECT * FROM {{docs}} WHERE owner = 'cedar'"),
    view("view-past-the-policy", "leak", "", "true", *policy("", "", "", _RIGHT).statements),
    policy("policy-lower", "leak", "P12", f"lower(owner) = lower({MINE})"),
    policy("policy-trim", "leak", "P12", f"owner = btrim({MINE})"),
    policy("policy-like", "leak", "P12", f"owner LIKE {MINE}"),
    policy("policy-list", "leak", "P12", f"owner = ANY(string_to_array({MINE}, ','))"),
    policy("policy-for-nobody", "fail-open", "P43", f"{MINE} IS NULL OR {_RIGHT}"),
    policy("policy-of-any", "fail-open", "P43", f"owner = coalesce({MINE}, owner)"),
    policy("policy-shares-one", "leak", "", f"{_RIGHT} OR {_FIRST}"),
    policy("policy-hides-one", "told", "lacks 1", f"{_RIGHT} AND NOT {_FIRST}"),
    policy("policy-for-the-role", "leak", "", _RIGHT,
           "CREATE POLICY support ON {docs} FOR SELECT TO {role} USING (true)"),
    policy("variable-of-the-role", "fail-open", "P43", _RIGHT,
           "ALTER ROLE {role} SET app.tenant = 'cedar'"),
    policy("role-past-policies", "leak", "BYPASSRLS", _RIGHT, "ALTER ROLE {role} BYPASSRLS"),
    Flaw("owner-not-forced", "leak", "FORCE", (
        _SECURED, f"{_POLICY}({_RIGHT})", "ALTER TABLE {docs} OWNER TO {role}")),
    Flaw("not-enabled", "leak", "ENABLE", (f"{_POLICY}({_RIGHT})",)),
    Flaw("view-relabels", "leak", "", (
        f"CREATE VIEW {{seen}} AS SELECT doc_id, {_LABELLED}, body, embedding FROM {{docs}}",),
        "filter"),
    Flaw("view-gives-to-a-second", "leak", "", (
        (f"{_VIEW} true UNION ALL SELECT doc_id, 'cedar', body, embedding FROM {{docs}} "
        f"WHERE {_FIRST}"),), "filter"),
    Flaw("row-in-anothers-partition", "leak", "", (
        "ALTER TABLE {docs} RENAME TO was",
        "CREATE TABLE {docs} (LIKE {schema}.was) PARTITION BY LIST (owner)",
        "CREATE TABLE {schema}.birch PARTITION OF {docs} FOR VALUES IN ('birch')",
        "CREATE TABLE {schema}.cedar PARTITION OF {docs} FOR VALUES IN ('cedar')",
        f"INSERT INTO {{docs}} SELECT doc_id, {_LABELLED}, body, embedding FROM {{schema}}.was",
        "GRANT SELECT ON {docs} TO {role}"), "partition"),
    Flaw("text-of-another", "leak", "which belongs to 'cedar'", (
        ("UPDATE {docs} SET body = (SELECT body FROM {docs} WHERE owner = 'cedar' ORDER BY doc_id "
        f"LIMIT 1) WHERE {_FIRST}"),), "filter"),
    Flaw("owner-null", "told", "without an owner", (_NOBODYS,), "filter"),
)  # fmt: skip


@asynccontextmanager
async def flawed(
    server: Connection, chunks: Sequence[Chunk], flaw: Flaw
) -> AsyncIterator[UsersIndex]:
    """The index of `tests/contract/indexes/pgvector.py`, and what was done to it since."""
    make = runpy.run_path(str(INDEX))["make"]
    async with make(server, chunks) as index:
        docs = index.fields.name
        schema = docs.partition(".")[0]
        names = {"docs": docs, "seen": f"{schema}.seen", "schema": schema, "role": schema}
        user, secret = (server.secrets[word].reveal() for word in ("user", "password"))
        async with await psycopg.AsyncConnection.connect(
            server.endpoint, user=user, password=secret, autocommit=True
        ) as connection:
            await connection.execute(f"GRANT USAGE, CREATE ON SCHEMA {schema} TO {schema}".encode())
            for statement in flaw.statements:
                await connection.execute(statement.format(**names).encode())
            seen = any("{seen}" in statement for statement in flaw.statements)
            if seen:
                await connection.execute(f"GRANT SELECT ON {schema}.seen TO {schema}".encode())
        yield replace(index, fields=replace(index.fields, name=names["seen"] if seen else docs))
