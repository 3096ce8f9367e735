"""How far one probe went: what it cannot have seen lies beyond."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tried:
    """The most hits that were asked for, who asked, and in which words; counted as it is asked."""

    k: int = 0
    tenants: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)

    def count(self, tenant: object, text: str, k: int) -> None:
        """One question; a tenant may be anything below the guard."""
        self.k = max(self.k, k)
        self.tenants.add(repr(tenant))
        self.texts.add(text)

    @property
    def numbers(self) -> Mapping[str, int]:
        """By name; empty where nothing was asked by a search."""
        if not self.k:
            return {}
        return {"k": self.k, "tenants": len(self.tenants), "texts": len(self.texts)}
