"""A tenant that nobody checked, to see what lies below the guard.

For the audit and the contract suite alone: no run, no load and no command makes one.
"""

from __future__ import annotations

from retrieverbench.model import TenantId


def unchecked_tenant(value: object) -> TenantId:
    """A TenantId that holds any value of any type, without a check."""
    tenant = object.__new__(TenantId)
    object.__setattr__(tenant, "value", value)
    return tenant
