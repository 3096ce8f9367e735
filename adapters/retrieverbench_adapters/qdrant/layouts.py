"""Where a tenant's points lie in each layout."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from retrieverbench.model import Layout, TenantId
from retrieverbench_adapters.qdrant.fields import tenant_text

_PLAIN = re.compile(r"[a-z0-9_-]{1,64}")
_SEPARATOR = "."


@dataclass(frozen=True, slots=True)
class Home:
    """A collection, and the shard key in it if the collection has custom shards."""

    collection: str
    shard: str | None = None


def home_of(layout: Layout, place: str, tenant: TenantId) -> Home:
    """`filter`: one collection; `partition`: a shard each; `index`: a collection each.

    A shard key is the tenant's own text: equal for equal tenants only.
    """
    if layout == "partition":
        return Home(place, tenant_text(tenant))
    if layout == "index":
        return Home(collection_name(place, tenant))
    return Home(place)


def collection_name(place: str, tenant: TenantId) -> str:
    """A tenant's own collection: equal names for equal tenants only.

    Names become folders, where case may not count and many characters may not stand. What
    is not plain is told by 128 bits of its hash, behind a dot, which no plain name holds.
    """
    text = tenant_text(tenant)
    if _PLAIN.fullmatch(text) is None:
        shown = re.sub(r"[^a-z0-9_-]", "_", text.lower())[:32]
        text = f"{shown}{_SEPARATOR}{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    return f"{place}{_SEPARATOR}{text}"


def is_of(place: str, collection: str) -> bool:
    """Whether a collection is one tenant's of that place."""
    return collection.startswith(place + _SEPARATOR)
