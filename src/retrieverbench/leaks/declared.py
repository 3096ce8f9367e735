"""Properties that a target is known to have, and where it says so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Declared:
    """One property. `value` is its number: a share, a count or seconds; 1.0 where it has none."""

    value: float
    place: str


def accepted_by(name: str, value: float | None = None) -> str:
    """How a suite accepts what was seen; `value` is the property's number, if it has one."""
    shown = "true" if value is None else f"{value:g}"
    return f"declares = {{ {name} = {shown} }} in the target accepts it"
