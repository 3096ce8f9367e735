"""What makes the isolation or the figures worth less than the layout promises. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from retrieverbench.model import Layout, Mode
from retrieverbench.remote import without_vector
from retrieverbench_adapters.pgvector.catalog import Catalog
from retrieverbench_adapters.pgvector.options import Options


@dataclass(frozen=True, slots=True)
class Usable:
    """What the server was asked about a user's table; None where it was not.

    Indexes that the planner can use at all, by its own word, "" for none; whether a session
    that names no tenant sees rows; and whether every row was found to have an id. `expression`
    is what an index for words must be on, `without_vector` counts the rows that have none in
    `vector_column`.
    """

    tenant: str | None = None
    words: str | None = None
    vector: str | None = None
    open_to_all: bool | None = None
    named: bool | None = None
    expression: str = ""
    without_vector: int = 0
    vector_column: str = ""


def weaknesses(
    found: Catalog, layout: Layout, tenant: str, options: Options, usable: Usable
) -> Iterator[str]:
    """One line each, with a remedy. `tenant` is the column that holds the owner."""
    column = found.columns[tenant]
    if not column.exact:
        yield (
            f"tenant column {tenant!r} is {column}, where different texts are equal; "
            "use text with a deterministic collation, or uuid"
        )
    if found.kind == "v" and not found.invoker:
        yield (
            f"{found.name} is a view that reads with its owner's rights, past row-level security; "
            f"ALTER VIEW {found.name} SET (security_invoker = true)"
        )
    if layout == "rls":
        yield from unbound(found, usable, options.search.tenant_setting)
    if usable.without_vector:
        yield without_vector(usable.without_vector, "rows", usable.vector_column)
    yield from _of_scans(found, layout, options)


def slowness(
    found: Catalog, layout: Layout, tenant: str, options: Options, usable: Usable
) -> dict[Mode, tuple[str, ...]]:
    """What costs the questions of each mode time, one line each, with a remedy."""
    by_tenant = list(_without_tenants(found, tenant, usable))
    by_words = list(_without_words(found, layout, options, usable))
    by_vector = list(_without_vectors(options, usable))
    return {
        "dense": (*by_tenant, *by_vector),
        "lexical": (*by_tenant, *by_words),
        "hybrid": (*by_tenant, *by_words, *by_vector),
    }


def _without_tenants(found: Catalog, tenant: str, usable: Usable) -> Iterator[str]:
    if usable.tenant == "" and tenant not in (found.partition_key or ""):
        yield (
            f"no index answers a condition on {tenant!r}: it is checked row by row; "
            f"{_index_on(found, f'({tenant})')}"
        )


def _without_words(
    found: Catalog, layout: Layout, options: Options, usable: Usable
) -> Iterator[str]:
    if usable.words == "":
        remedy = (
            "@@ is not leakproof, so under a policy no index may; use layout filter or partition"
            if layout == "rls"
            else _index_on(found, f"USING gin ({usable.expression})")
        )
        yield (
            f"no index answers lexical search under configuration "
            f"{options.place.text_search_config!r}: the words of every row of the tenant are read; "
            f"{remedy}"
        )


def _index_on(found: Catalog, rest: str) -> str:
    """The remedy; a view has no index of its own."""
    others = {"v": "a view", "f": "a foreign table"}
    if found.kind in others:
        return f"{found.name} is {others[found.kind]}: CREATE INDEX ON the table under it {rest}"
    return f"CREATE INDEX ON {found.name} {rest}"


def _without_vectors(options: Options, usable: Usable) -> Iterator[str]:
    if usable.vector == "" and not options.search.exact:
        yield (
            f"no approximate index answers {options.place.metric!r}: dense search is exact and "
            "compares every row of the tenant; create an HNSW index, or state search.exact = true"
        )


def unbound(found: Catalog, usable: Usable, setting: str) -> Iterator[str]:
    """Why the server's own rule does not keep the role that searches to one tenant."""
    yield from _of_row_security(found, setting)
    if usable.open_to_all and (found.binds or found.kind == "v"):
        # whom a table's policies do not bind sees its rows anyway
        yield (
            f"where no question has set {setting}, rows are shown all the same; compare with "
            f"nullif(current_setting('{setting}', true), ''), and let no session begin with a "
            f"value (ALTER ROLE {found.role} RESET {setting})"
        )


def _of_row_security(found: Catalog, setting: str) -> Iterator[str]:
    role = f"role {found.role!r}"
    if found.superuser or found.bypasses:
        word = "a superuser" if found.superuser else "BYPASSRLS"
        yield f"{role} is {word}, so row-level security does not bind it; search with another role"
    if found.kind == "v":  # its own condition may be the rule, or that of the tables under it
        return
    if not found.secured:
        yield (
            f"row-level security is not enabled on {found.name}, so every tenant reads everything; "
            f"ALTER TABLE {found.name} ENABLE ROW LEVEL SECURITY"
        )
        return
    if found.owner and not found.forced and not found.superuser:
        yield (
            f"{role} owns {found.name}, so row-level security does not bind it; "
            f"ALTER TABLE {found.name} FORCE ROW LEVEL SECURITY"
        )
    permissive = [policy for policy in found.policies if policy.permissive]
    for policy in permissive:
        others = ", ".join(sorted(policy.variables))
        if others and setting not in policy.variables:
            yield (
                f"policy {policy.name!r} reads {others}, the target sets {setting}: "
                f"set search.tenant_setting = {others!r}"
            )
        elif setting not in policy.condition:
            yield (
                f"policy {policy.name!r} lets {role} read rows whatever {setting} is: "
                f"{policy.condition:.120}; drop it, or name its variable by search.tenant_setting"
            )


def _of_scans(found: Catalog, layout: Layout, options: Options) -> Iterator[str]:
    index = found.vector_index
    if index is None or options.search.exact or layout not in {"filter", "rls"}:
        return
    if options.search.iterative_scan == "off":
        yield (
            f"index {index.name!r} is scanned once and the tenant's condition applied after it, so "
            "small tenants get short answers; set search.iterative_scan, or use layout partition"
        )
