"""The error of ours for the status of an HTTP answer."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from retrieverbench.errors import (
    BackendError,
    Code,
    Refused,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
    Unsupported,
)

_LONGEST = 500


def error_for(
    status: int,
    text: str,
    *,
    retry_after: float | None = None,
    throttling: Collection[int] = (429,),
) -> BackendError:
    """The error that the status calls for; `text` is its whole message.

    `throttling` are the statuses by which this backend asks for fewer requests, and
    `retry_after` the seconds it asks to wait.
    """
    if status in throttling:
        return Throttled(text, retry_after=retry_after)
    if status in {401, 403}:
        return Refused(f"{text}; check the credentials and their rights")
    if status == 408:
        return TimedOut(text)
    if status == 501:
        return Unsupported(text)
    if status >= 500:
        return Unavailable(text, code=Code.HTTP_5XX)
    return Rejected(text)


def one_line(text: str, longest: int = _LONGEST) -> str:
    """A backend's own words without line breaks, cut where they get too long."""
    return " ".join(text.split())[:longest]


def seconds(text: str | None) -> float | None:
    """The seconds of a header such as Retry-After; None if it holds a date, or nothing."""
    try:
        number = float(text) if text else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def hide_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text with every secret in it replaced by ***."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return text
