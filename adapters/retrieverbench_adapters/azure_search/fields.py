"""Which fields of an index hold what: ours, or the user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retrieverbench.adapter import Attached, Settings
from retrieverbench.errors import InputError, TenantError
from retrieverbench.model import TenantId
from retrieverbench.options import nearest
from retrieverbench.remote import INTEGER, LONG, is_unicode

WHOLE: Mapping[str, range] = {"Edm.Int32": INTEGER, "Edm.Int64": LONG}
"""Types of whole numbers, and which each of them holds."""
_ONE_OWNER = "is compared exactly; name a field of these that holds one owner in each document"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Fields:
    """`text` are searched in lexical mode. `metadata` None means pairs in one field of ours.

    `owners` are the whole numbers that the tenant field can hold, None where it holds texts.
    """

    id: str
    tenant: str
    text: tuple[str, ...]
    vector: str
    metadata: Mapping[str, str] | None = None
    owners: range | None = None

    @property
    def own(self) -> bool:
        """Whether the index is one that this adapter made."""
        return self.metadata is None

    @property
    def shown(self) -> list[str]:
        """What a chunk's text is made of."""
        return ["content", "text"] if self.own else list(self.text)


def tenant_text(tenant: TenantId) -> str:
    """What is asked for. Raises TenantError for what cannot name one tenant."""
    if not isinstance(tenant, TenantId) or type(tenant.value) is not str or not tenant.value:
        raise TenantError(f"azure_search: tenant: {tenant!r:.80} is not a checked tenant")
    if not is_unicode(tenant.value):
        raise TenantError(f"azure_search: tenant: {tenant!r:.80} holds half of a surrogate pair")
    return tenant.value


OWN = Fields("uid", "tenant", ("content",), "vector")


def fields_of(attached: Attached | None) -> Fields:
    """The mapping of an attached index, its names checked: they are written into filters."""
    if attached is None:
        return OWN
    mapped = attached.metadata
    names = [attached.id, attached.tenant, *attached.text, *mapped.values()]
    names += [attached.vector] if attached.vector else []
    wrong = [
        f"azure_search: attach: {name!r} is no name of a field; give a field of the index itself"
        for name in names
        if _NAME.fullmatch(name) is None
    ]
    if wrong:
        raise InputError(*wrong)
    return Fields(attached.id, attached.tenant, attached.text, attached.vector, mapped)


def mapping_faults(settings: Settings, fields: Fields, shown: Mapping[str, Any]) -> list[str]:
    """One line for everything that the index, as the service shows it, does not honour."""
    present = {item["name"]: item for item in shown["fields"]}
    used = {"id": fields.id, "tenant": fields.tenant, "vector": fields.vector}
    used |= {f"text {name}": name for name in fields.text}
    used |= {f"metadata {name}": field for name, field in (fields.metadata or {}).items()}
    missing = [
        f"attach.{role.partition(' ')[0]}: the index has no field {name!r}; it has "
        f"{', '.join(sorted(present))[:300]}"
        for role, name in used.items()
        if name and name not in present
    ]
    found = missing or [
        *_strings(fields, present),
        *_searched(settings, fields, present),
        *_filtered(fields, present),
    ]
    return [f"azure_search: {fault}" for fault in found]


def owners_of(fields: Fields, shown: Mapping[str, Any]) -> range | None:
    """The whole numbers that the tenant field of an index can hold; None where it holds texts."""
    kinds = {item["name"]: item["type"] for item in shown["fields"]}
    return WHOLE.get(kinds.get(fields.tenant, ""))


def _strings(fields: Fields, present: Mapping[str, Any]) -> list[str]:
    whole = f", {' or '.join(WHOLE)}"
    roles = (
        ("id", fields.id, (), "names a chunk; name such a field: the index's key is one"),
        ("tenant", fields.tenant, WHOLE, _ONE_OWNER),
    )
    found = [
        f"attach.{role}: {name!r} is {present[name]['type']}; only Edm.String"
        f"{whole if more else ''} {why}"
        for role, name, more, why in roles
        if present[name]["type"] not in {"Edm.String", *more}
    ]
    if not present[fields.id].get("retrievable", True):
        found.append(f"attach.id: {fields.id!r} is not retrievable; hits could not be named")
    if present[fields.tenant].get("normalizer"):
        found.append(
            f"attach.tenant: {fields.tenant!r} has the normalizer "
            f"{present[fields.tenant]['normalizer']!r}: other names would match too; "
            "use a field without one"
        )
    return found


def _filtered(fields: Fields, present: Mapping[str, Any]) -> list[str]:
    roles = [("tenant", fields.tenant)]
    roles += [("metadata", name) for name in (fields.metadata or {}).values()]
    return [
        f"attach.{role}: {name!r} is not filterable; rebuild the index with a filterable field"
        for role, name in roles
        if not present[name].get("filterable", True)
    ]


def _searched(settings: Settings, fields: Fields, present: Mapping[str, Any]) -> list[str]:
    found = []
    if settings.modes & {"lexical", "hybrid"}:
        found += [
            f"attach.text: {name!r} is not searchable text; map fields with an analyzer"
            for name in fields.text
            if not present[name].get("searchable") or present[name].get("dimensions")
        ]
        if not fields.text:
            found.append("attach.text: missing; lexical and hybrid mode search by it")
    if settings.modes & {"dense", "hybrid"}:
        if not fields.vector:
            return [*found, "attach.vector: missing; dense and hybrid mode search by it"]
        dimension = present[fields.vector].get("dimensions")
        if dimension is None:
            vectors = sorted(name for name, field in present.items() if field.get("dimensions"))
            found.append(
                f"attach.vector: {fields.vector!r} is {present[fields.vector]['type']}, no field "
                f"of vectors; {nearest(fields.vector, vectors)}"
            )
        elif dimension != settings.dimension:
            found.append(
                f"attach.vector: {fields.vector!r} has {dimension} dimensions, the embedding "
                f"{settings.dimension}; use the embedding that the index was built with"
            )
    return found


def text_in(raw: Mapping[str, Any], shown: Sequence[str]) -> str:
    """An attached chunk's text: its mapped fields, a line each."""
    values = [raw.get(name) for name in shown]
    parts = [part for v in values for part in (v if isinstance(v, list) else [v])]
    return "\n".join(str(part) for part in parts if part is not None)
