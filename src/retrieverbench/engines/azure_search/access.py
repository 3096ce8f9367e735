"""Who may do what: by key, or by a token that carries roles."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from retrieverbench.engines.azure_search.replies import Refusal, Silent

Role = Literal["service contributor", "data contributor", "data reader"]

_READS = frozenset({"search", "count", "lookup"})
_DEFINITIONS = frozenset({"list", "create", "get", "put", "delete", "stats", "service stats"})
_ALLOWED: Mapping[Role, frozenset[str]] = {
    "service contributor": _DEFINITIONS,
    "data contributor": _READS | {"write"},
    "data reader": _READS,
}
OWNER: frozenset[Role] = frozenset({"service contributor", "data contributor"})
READER: frozenset[Role] = frozenset({"data reader"})


def make_credentials() -> Credentials:
    """Random keys and two random tokens, of OWNER and of READER."""
    tokens = {secrets.token_hex(16): OWNER, secrets.token_hex(16): READER}
    return Credentials(secrets.token_hex(16), secrets.token_hex(16), tokens)


@dataclass(frozen=True, slots=True)
class Credentials:
    """What opens a service. A key opens more or less; a token what its roles allow."""

    admin_key: str = field(repr=False)
    query_key: str = field(repr=False)
    tokens: Mapping[str, frozenset[Role]] = field(default_factory=dict, repr=False)

    def check(self, headers: Mapping[str, str], operation: str) -> None:
        """Let a call pass, or refuse it as the service does; a key wins over a token."""
        if "api-key" in headers or "authorization" not in headers:
            self._check_key(headers.get("api-key"), operation)
            return
        scheme, _, token = headers["authorization"].partition(" ")
        roles = self.tokens.get(token) if scheme.lower() == "bearer" else None
        if roles is None:
            raise Silent(401)
        if operation != "unknown" and not any(operation in _ALLOWED[role] for role in roles):
            raise Refusal(403, "Authorization failed.")

    def token_of(self, roles: frozenset[Role]) -> str | None:
        """The first token with exactly these roles; None if there is none."""
        return next((token for token, held in self.tokens.items() if held == roles), None)

    def _check_key(self, given: str | None, operation: str) -> None:
        reads = given == self.query_key and operation in _READS
        if given != self.admin_key and not reads:
            raise Silent(403)
