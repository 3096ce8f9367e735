"""Metadata as terms that are equal exactly when the entries are."""

from __future__ import annotations

import json

from retrieverbench.model import Value


def metadata_term(name: str, value: Value) -> str:
    """One entry as JSON of (name, value): injective, and equal as in JSON (1 is 1.0, not true)."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps([name, value], ensure_ascii=False)
