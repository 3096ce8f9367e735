"""Which errors turn a tenant away, and which show that something broke."""

from __future__ import annotations

from retrieverbench.errors import BackendError, InputError, Refused, Rejected

_OF_PYTHON = frozenset({ValueError, TypeError, LookupError, KeyError, PermissionError})
"""What a class of a user's own raises for a tenant that it does not know. Clients and parsers have
classes of their own, derived from these at most."""


def is_refusal(error: BackendError, *, loads: bool, owns: bool) -> bool:
    """Whether a question was refused, by the adapter or by the rights of a tenant.

    `owns` says whether a chunk is the tenant's, `loads` whether the harness filled the place. A
    service that is only read may call strangers unknown; an adapter that loads its backend sends
    names that no backend has a reason to reject, unless they were read as syntax.
    """
    if isinstance(error.__cause__, InputError):  # a TenantError of the adapter comes wrapped
        return True
    kinds = Refused if loads else (Refused, Rejected)
    return not owns and (isinstance(error, kinds) or type(error.__cause__) in _OF_PYTHON)
