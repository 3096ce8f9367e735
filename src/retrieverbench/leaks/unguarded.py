"""A tenant that nobody checked, to see what lies below the guard.

For the audit and the contract suite alone: no run, no load and no command makes one.
"""

from __future__ import annotations

from retrieverbench.model import TenantId

SHOWN = 80


def unchecked_tenant(value: object) -> TenantId:
    """A TenantId that holds any value of any type, without a check."""
    tenant = object.__new__(TenantId)
    object.__setattr__(tenant, "value", value)
    return tenant


def shown_tenant(tenant: TenantId) -> str:
    """An unchecked tenant may hold anything, of any length; a text is told from a number."""
    value: object = tenant.value
    text = value if isinstance(value, str) else f"{type(value).__name__} {value!r}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
