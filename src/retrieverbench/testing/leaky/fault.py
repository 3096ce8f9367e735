"""What a fault is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to leak: the points of the adapter that it replaces, and who should notice.

    `tells` is one line on what goes wrong. `probes` are the numbers of those that must catch
    it. `outcome` is what they must conclude: a retriever that finds nothing cannot leak, and
    is caught by being inconclusive. What it `hides` is done and not declared.
    """

    name: str
    family: str
    tells: str
    probes: tuple[str, ...]
    changes: Mapping[str, Any]
    outcome: Literal["fail", "inconclusive"] = "fail"
    hides: frozenset[str] = frozenset()
