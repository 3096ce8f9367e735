"""Which payload fields and vectors of a collection hold what."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qdrant_client import models

from retrieverbench.adapter import Attached
from retrieverbench.errors import TenantError
from retrieverbench.model import TenantId
from retrieverbench.remote import LONG, is_unicode, whole_number

POINT_ID = "@point_id"
"""As `id` of an attached collection: the point's own id. No payload path begins so."""

UNNAMED = "@unnamed"
"""As `vector` of an attached collection: the one vector that has no name."""

_PART = re.compile(r'"([^"]*)"|([^".\[\]]+)')
_PATH = re.compile(r'(?:"[^"]*"|[^".\[\]@]+)(?:\.(?:"[^"]*"|[^".\[\]]+))*')
_POINT_NAMESPACE = uuid.UUID("6f1c5ad8-2a5c-4d0a-9d0e-5a2f3f0f6c11")


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of vectors, and payload fields as the paths that Qdrant's filters take.

    `where` maps names of user conditions to fields; None where they are kept as tokens in
    the field WHERE. `numbered` says that the ids of chunks are whole numbers, `owners_numbered`
    that tenants are.
    """

    uid: str
    tenant: str
    text: tuple[str, ...]
    dense: str
    sparse: str
    where: Mapping[str, str] | None = None
    numbered: bool = False
    owners_numbered: bool = False

    def payload(self, *, text: bool) -> list[str]:
        """The payload fields that an answer needs."""
        uid = [] if self.uid == POINT_ID else [self.uid]
        return [*uid, self.tenant, *(self.text if text else ())]


WHERE = "where"
OWN = Fields("uid", "tenant", ("text",), "dense", "lexical")
"""Those of a collection that this adapter makes."""


def attached_fields(attached: Attached, sparse: str) -> Fields:
    """Those of a collection of the user's; `sparse` is the vector that lexical mode searches."""
    dense = "" if attached.vector == UNNAMED else attached.vector
    return Fields(
        attached.id, attached.tenant, attached.text, dense, sparse, dict(attached.metadata)
    )


def is_path(field: str) -> bool:
    """Whether a payload field is written as `name`, `outer.inner` or `"a.b".inner`."""
    return _PATH.fullmatch(field) is not None


def value_at(payload: Mapping[str, Any], path: str) -> Any:
    """The value at a path; None where there is none."""
    if path.isidentifier():  # of every hit, in timed runs
        return payload.get(path)
    found: Any = payload
    for quoted, plain in _PART.findall(path):
        found = found.get(quoted or plain) if isinstance(found, Mapping) else None
    return found


def uid_of(
    identity: models.ExtendedPointId, payload: Mapping[str, Any], fields: Fields
) -> str | None:
    """The chunk's name over all tenants; None when the point holds none."""
    value = identity if fields.uid == POINT_ID else value_at(payload, fields.uid)
    if type(value) is str:
        return value
    return str(value) if type(value) in {int, uuid.UUID} else None


def label_of(payload: Mapping[str, Any], fields: Fields) -> str | None:
    """The stored owner as text; a list of owners is shown as it stands."""
    value = value_at(payload, fields.tenant)
    return value if value is None or type(value) is str else json.dumps(value)


def text_of(payload: Mapping[str, Any], fields: Fields) -> str:
    """The stored text, fields joined by newlines."""
    values = (value_at(payload, field) for field in fields.text)
    return "\n".join(value for value in values if type(value) is str)


def tenant_text(tenant: TenantId) -> str:
    """The stored and asked value; only a non-empty text can be one."""
    value = tenant.value
    if type(value) is not str or not value or not is_unicode(value):
        raise TenantError(f"tenant: {value!r:.80} is not a non-empty text of characters")
    return value


def tenant_value(tenant: TenantId, fields: Fields) -> str | int:
    """What is asked for: text, or the number that is written so. To Qdrant 7 is never '7'."""
    text = tenant_text(tenant)
    number = whole_number(text, LONG) if fields.owners_numbered else None
    return text if number is None else number


def owners_of(payload: Mapping[str, Any], fields: Fields) -> list[str]:
    """Those who find a point, as tenants are named: each of a list, of which none may be."""
    value = value_at(payload, fields.tenant)
    kind = int if fields.owners_numbered else str
    values = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(str(one) for one in values if type(one) is kind and one != ""))


def point_id(uid: str) -> str:
    """The physical id: a UUID of the uid (RFC 9562, version 5), of any text that is asked for."""
    named = _POINT_NAMESPACE.bytes + uid.encode("utf-8", "surrogatepass")
    digest = hashlib.sha1(named, usedforsecurity=False).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))
