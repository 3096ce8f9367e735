"""Every request that a target sent, kept for the probes that judge requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from retrieverbench.adapter import Leg


@dataclass(frozen=True, slots=True)
class Request:
    """One outgoing request, with the condition of each of its legs."""

    operation: str
    legs: tuple[Leg, ...]
    body: object


@dataclass(slots=True)
class RequestLog:
    """A Recorder that keeps everything; `take` empties it."""

    requests: list[Request] = field(default_factory=list)
    responses: list[object] = field(default_factory=list)

    def request(self, operation: str, legs: Sequence[Leg], body: object) -> None:
        """As `Recorder.request`."""
        self.requests.append(Request(operation, tuple(legs), body))

    def response(self, operation: str, body: object) -> None:
        """As `Recorder.response`."""
        self.responses.append((operation, body))

    def take(self) -> tuple[list[Request], list[object]]:
        """What was sent and came back since the last time."""
        taken = self.requests, self.responses
        self.requests, self.responses = [], []
        return taken
