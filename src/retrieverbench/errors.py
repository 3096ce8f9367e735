"""Every error raised on purpose, divided by what the reader can do about it.

RetrieverBenchError
├── Interrupted           run it again                                               exit 130
├── InputError            change the command, the suite or the golden set            exit 2
│   └── TenantError       this cannot name a tenant (raised before any request)
└── BackendError          start, install, repair or reconfigure the backend          exit 3
    ├── MissingClient     pip install 'retrieverbench[x]'
    ├── NotConfigured     nothing says where it is, or it cannot be started on this machine
    ├── Unavailable       no connection, reset, pool exhausted, 5xx
    ├── TimedOut          no answer before the deadline
    ├── Throttled         429, or the backend's own word for it; carries Retry-After
    ├── Refused           credentials or rights
    ├── Rejected          the backend calls our request wrong (4xx), with its text
    ├── Unsupported       claimed in general, absent on this server (licence, version)
    └── AdapterError      the adapter broke the protocol (bad answer, more than k, lost item)

An exception says that work could not be done; what the work found is a verdict.
A leak is therefore never an exception.
"""

from __future__ import annotations

import re
from enum import IntEnum


class Code(IntEnum):
    """How one request ended. The numbers are stored in load records and never change."""

    OK = 0
    TIMEOUT = 1
    CONNECT = 2
    RESET = 3
    POOL_TIMEOUT = 4
    THROTTLED = 5
    HTTP_4XX = 6
    HTTP_5XX = 7
    AUTH = 8
    BAD_ANSWER = 9
    WRONG_COUNT = 10
    TENANT_VIOLATION = 11
    CANCELLED = 12
    HARNESS = 13
    PARTIAL = 14

    @property
    def word(self) -> str:
        """The name as artifacts and reports print it, e.g. `pool_timeout`."""
        return self.name.lower()


class RetrieverBenchError(Exception):
    """The root; never raised itself."""

    exit_code = 5


class Interrupted(RetrieverBenchError):
    """The user stopped the work, and there is nothing to keep."""

    exit_code = 130


class InputError(RetrieverBenchError):
    """The user's input is wrong. `faults` holds one line per fault; str() joins them."""

    exit_code = 2

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults: tuple[str, ...] = faults


class TenantError(InputError):
    """This value cannot name a tenant. Raised before any request is sent."""


class BackendError(RetrieverBenchError):
    """A backend could not do what was asked. `code` is the load record's word for it.

    `remedy` is what to do about it, apart from the words, so that no cut loses it; str() ends
    with it. Without one the `advice` of the class is what a report shows.
    """

    exit_code = 3
    code = Code.HARNESS
    remedy = ""
    advice = "see the backend's own log"

    def __init__(self, message: str, *, code: Code | None = None, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}" if self.remedy else self.reason

    @property
    def reason(self) -> str:
        """What is wrong, without the remedy."""
        return super().__str__()


class MissingClient(BackendError):
    """A package that this backend needs is not installed; the message holds the pip line."""

    code = Code.CONNECT
    advice = "install the package that is named"


class NotConfigured(BackendError):
    """Nothing says where the backend is, or its engine cannot be started on this machine."""

    code = Code.CONNECT
    advice = "name an endpoint of a server in the suite"


class Unavailable(BackendError):
    """No connection, a connection lost, a full pool, or a server error (5xx)."""

    code = Code.CONNECT
    advice = "check that the server runs and that its address and port are right"


class TimedOut(BackendError):
    """No answer before the deadline."""

    code = Code.TIMEOUT
    advice = "raise the suite's timeout or see what the backend is doing"


class Throttled(BackendError):
    """The backend asks for fewer requests. `retry_after` is in seconds, None if not told."""

    code = Code.THROTTLED
    advice = "lower the target's concurrency, or run it when the backend is less busy"

    def __init__(self, message: str, *, retry_after: float | None = None, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after = retry_after


class Refused(BackendError):
    """Credentials or rights are missing or wrong."""

    code = Code.AUTH
    advice = "check the credentials and their rights"


class Rejected(BackendError):
    """The backend calls our request wrong (4xx); the message holds its own text."""

    code = Code.HTTP_4XX
    advice = "change the target's options, or what is asked, as the backend's words say"


class Unsupported(BackendError):
    """The adapter can do this in general, this server cannot (licence, version)."""

    code = Code.HTTP_4XX
    advice = "use a server or a licence that can do it, or leave this target out"


class AdapterError(BackendError):
    """The adapter or backend broke the protocol: bad answer, more than k hits, a lost item."""

    code = Code.BAD_ANSWER
    advice = "repair the adapter; --debug before the command shows where it was raised"


def plural(count: int, noun: str) -> str:
    """`1 case`, `2 cases`, `2 queries`, `2 searches`."""
    if count == 1:
        return f"{count} {noun}"
    if re.search(r"[^aeiou]y$", noun):
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}{'es' if re.search(r'(s|x|ch|sh)$', noun) else 's'}"
