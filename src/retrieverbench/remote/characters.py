"""Texts that no backend can be sent."""

from __future__ import annotations


def is_unicode(text: str) -> bool:
    """Whether it holds characters alone: half of a surrogate pair is none, and has no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
