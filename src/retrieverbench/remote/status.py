"""The error of ours for the status of an HTTP answer."""

from __future__ import annotations

import math
from collections.abc import Collection

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
        return Refused(text, remedy=Refused.advice)
    if status == 408:
        return TimedOut(text)
    if status == 501:
        return Unsupported(text)
    if status >= 500:
        return Unavailable(text, code=Code.HTTP_5XX)
    return Rejected(text)


def tls_remedy(words: str, trust: str) -> str:
    """What to do about a connection that failed by these words of TLS; "" where it was not TLS.

    `trust` is where the file of the certificate's authority is named.
    """
    if "WRONG_VERSION_NUMBER" in words or "RECORD_LAYER_FAILURE" in words:
        return "the port does not speak TLS: begin the endpoint with http://, or name another port"
    if "CERTIFICATE_VERIFY_FAILED" not in words:
        return ""
    if "has expired" in words:
        return "renew the server's certificate"
    if "mismatch" in words or "doesn't match" in words or "not valid for" in words:
        return "name the host that the certificate is for in the endpoint"
    return f"name the file of the authority that signed the server's certificate in {trust}"


def one_line(text: str, longest: int = _LONGEST) -> str:
    """A backend's own words without line breaks; "…" stands where they were cut."""
    return shortened(" ".join(text.split()), longest)


def shortened(text: str, longest: int) -> str:
    """At most `longest` characters, cut before the middle.

    What is wrong stands at the beginning, its innermost cause and what to do at the end.
    """
    if len(text) <= longest:
        return text
    before = longest // 3
    return f"{text[:before]}…{text[before + 1 - longest :]}"


def seconds(text: str | None) -> float | None:
    """The seconds of a header such as Retry-After; None if it holds a date, or nothing."""
    try:
        number = float(text) if text else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
