"""Properties that a target is known to have, and where it says so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Declared:
    """One property. `value` is its number: a share, a count or seconds; 1.0 where it has none."""

    value: float
    place: str
