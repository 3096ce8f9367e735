"""Errors by the status of an answer."""

from __future__ import annotations

import pytest

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
from retrieverbench.remote import error_for, one_line, seconds, tls_remedy


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, Rejected, Code.HTTP_4XX),
        (401, Refused, Code.AUTH),
        (403, Refused, Code.AUTH),
        (404, Rejected, Code.HTTP_4XX),
        (408, TimedOut, Code.TIMEOUT),
        (429, Throttled, Code.THROTTLED),
        (500, Unavailable, Code.HTTP_5XX),
        (501, Unsupported, Code.HTTP_4XX),
        (503, Unavailable, Code.HTTP_5XX),
    ],
)
def test_each_status_has_its_remedy(status: int, kind: type[BackendError], code: Code) -> None:
    error = error_for(status, "the server's words")
    assert type(error) is kind
    assert error.code is code
    assert "the server's words" in str(error)


def test_a_backends_own_status_for_throttling() -> None:
    error = error_for(503, "x", retry_after=2.5, throttling=(429, 503))
    assert isinstance(error, Throttled)
    assert error.retry_after == 2.5


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 7.0), ("0.5", 0.5), (None, None), ("", None), ("Wed, 21 Oct", None), ("nan", None),
     ("-1", None), ("inf", None)],
)  # fmt: skip
def test_seconds_of_a_header(text: str | None, expected: float | None) -> None:
    assert seconds(text) == expected


def test_words_come_on_one_line_and_are_cut() -> None:
    assert one_line(" a\n\tb  c ") == "a b c"
    assert one_line("a" * 500 + "z" * 499) == "a" * 166 + "…" + "z" * 333
    assert one_line("x" * 500) == "x" * 500


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("Connect call failed", ""),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number", "http://"),
        ("CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired", "renew"),
        ("CERTIFICATE_VERIFY_FAILED] Hostname mismatch, certificate is", "name the host"),
        ("CERTIFICATE_VERIFY_FAILED] self-signed certificate", "in connect.ca"),
    ],
)
def test_each_fault_of_tls_has_its_remedy(words: str, told: str) -> None:
    assert told in tls_remedy(words, "connect.ca")
    assert bool(tls_remedy(words, "connect.ca")) == bool(told)
