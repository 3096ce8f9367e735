"""Owners that a user's index keeps as whole numbers, where everybody else names them by text."""

from __future__ import annotations

import re

LONG = range(-(2**63), 2**63)
INTEGER = range(-(2**31), 2**31)

_PLAIN = re.compile(r"0|-?[1-9][0-9]{0,19}")


def whole_number(text: str, among: range) -> int | None:
    """The number that is written in these very characters; None for '07', '1.0' and all others.

    Servers read '07' as 7 if they are given text: one tenant would find another one's chunks.
    """
    return int(text) if _PLAIN.fullmatch(text) and int(text) in among else None
