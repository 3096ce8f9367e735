"""Every request that a target sent, kept for the probes that judge requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from retrieverbench.adapter import Leg


@dataclass(frozen=True, slots=True)
class Request:
    """One outgoing request, with the condition of each of its legs."""

    operation: str
    legs: tuple[Leg, ...]
    body: object


@dataclass(slots=True)
class Sent:
    """What one question sent and what came back, while it `is_open`."""

    requests: list[Request] = field(default_factory=list)
    responses: list[object] = field(default_factory=list)
    is_open: bool = True


_asking: ContextVar[Sent | None] = ContextVar("_asking", default=None)
"""Of the question in whose task a request is sent."""


@dataclass(slots=True)
class RequestLog:
    """A Recorder that keeps everything; `take` empties it.

    What a question sends within `apart` is kept for that question. `is_told_apart` turns False
    for good when that once did not hold: requests then belong to whatever was asked meanwhile.
    """

    requests: list[Request] = field(default_factory=list)
    responses: list[object] = field(default_factory=list)
    is_told_apart: bool = True

    def request(self, operation: str, legs: Sequence[Leg], body: object) -> None:
        """As `Recorder.request`."""
        self._kept().requests.append(Request(operation, tuple(legs), body))

    def response(self, operation: str, body: object) -> None:
        """As `Recorder.response`."""
        self._kept().responses.append((operation, body))

    def _kept(self) -> Sent | RequestLog:
        # A task that a question started may live on, and send for others.
        sent = _asking.get()
        return sent if sent is not None and sent.is_open else self

    def take(self) -> tuple[list[Request], list[object]]:
        """What was sent and came back since the last time, by no question that is kept apart."""
        taken = self.requests, self.responses
        self.requests, self.responses = [], []
        return taken

    def claim(self, sent: Sent) -> bool:
        """Whether something was sent, or came back, by no question; it is this one's then."""
        requests, responses = self.take()
        sent.requests += requests
        sent.responses += responses
        found = bool(requests or responses)
        self.is_told_apart = self.is_told_apart and not found
        return found

    @contextmanager
    def apart(self) -> Iterator[Sent]:
        """What is sent in this task, and in those that it starts, is kept in the Sent alone."""
        sent = Sent()
        token = _asking.set(sent)
        try:
            yield sent
        finally:
            sent.is_open = False
            _asking.reset(token)
