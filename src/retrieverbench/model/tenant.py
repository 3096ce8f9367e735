"""The asking tenant: checked once, where it is made, and never normalised afterwards."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from retrieverbench.errors import TenantError

MAX_TENANT_BYTES = 128
_SHOWN = 80
DEFAULT_TENANT_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]*"


@dataclass(frozen=True, slots=True, order=True)
class TenantId:
    """Who asks, or who owns a chunk. Two tenants are equal only if every byte is.

    Construction refuses what no suite may allow (type, normalisation, length, control
    characters). The narrower default alphabet is applied by `parse_tenant`.
    """

    value: str

    def __post_init__(self) -> None:
        fault = _fault(self.value)
        if fault is not None:
            raise TenantError(f"tenant: {_shown(self.value)} {fault}; rename it")

    def __str__(self) -> str:
        return self.value


def parse_tenant(raw: object, pattern: str = DEFAULT_TENANT_PATTERN) -> TenantId:
    """Check a value read from a file or given by a caller, and make a TenantId of it.

    `pattern` is the regular expression the whole value must match; a suite may widen it.
    Raises TenantError for anything else, of whatever type, before any request is sent.
    """
    if type(raw) is not str:
        raise TenantError(f"tenant: {raw!r:.80} is {type(raw).__name__}, not text; name one tenant")
    tenant = TenantId(raw)
    if re.fullmatch(pattern, raw) is None:
        raise TenantError(
            f"tenant: {_shown(raw)} does not match {pattern!r}; "
            "rename it or widen tenant_pattern in the suite"
        )
    return tenant


def _shown(raw: object) -> str:
    """A value for a message; of a long one the cut is seen."""
    text = repr(raw)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 2]}…{text[-1]}"


def _fault(raw: object) -> str | None:
    if type(raw) is not str:
        return f"is {type(raw).__name__}, not text"
    if not raw:
        return "is empty; an empty tenant would mean every tenant"
    if raw != raw.strip():
        return "begins or ends with white space"
    if not raw.isprintable():
        return "holds characters that cannot be printed"
    if unicodedata.normalize("NFC", raw) != raw:
        return "is not in Unicode normal form C"
    if len(raw.encode("utf-8")) > MAX_TENANT_BYTES:
        return f"is longer than {MAX_TENANT_BYTES} bytes"
    return None
